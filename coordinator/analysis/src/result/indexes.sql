CREATE INDEX link_cluster ON link (cluster);
CREATE INDEX family_cluster ON family (cluster);
CREATE INDEX family_member_cluster ON family_member (cluster, number);
CREATE INDEX cluster_name ON cluster (name);
CREATE INDEX identical_name ON identical (name);
