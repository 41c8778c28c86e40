CREATE INDEX document_content ON document (content);
CREATE INDEX document_message ON document (message) WHERE message IS NOT NULL;
