CREATE INDEX content_identical ON content (identical) WHERE identical IS NOT NULL;
CREATE INDEX content_cluster ON content (cluster) WHERE cluster IS NOT NULL;
CREATE INDEX link_cluster ON link (cluster);
CREATE INDEX family_cluster ON family (cluster);
CREATE INDEX family_member_cluster ON family_member (cluster, number);
CREATE INDEX cluster_name ON cluster (name);
CREATE INDEX identical_name ON identical (name);
CREATE INDEX content_digest ON content (digest) WHERE cluster IS NOT NULL;
