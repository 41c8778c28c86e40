CREATE INDEX document_content ON document (content);
CREATE INDEX document_message ON document (message) WHERE message IS NOT NULL;
CREATE INDEX content_identical ON content (identical) WHERE identical IS NOT NULL;
CREATE INDEX content_cluster ON content (cluster) WHERE cluster IS NOT NULL;
CREATE INDEX content_digest ON content (digest) WHERE cluster IS NOT NULL;
