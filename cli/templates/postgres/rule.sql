-- PostgreSQL passes wrong rows to the triggers of a partitioned table after a MERGE, and
-- refuses a MERGE into a table with a rule.
CREATE RULE {{ name }} AS ON DELETE TO {{ table }} WHERE false DO ALSO NOTHING;
