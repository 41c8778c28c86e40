CREATE INDEX cluster_name ON cluster (name);
CREATE INDEX identical_name ON identical (name);
CREATE INDEX member_digest ON member (digest);
