CREATE {{ "OR REPLACE " if or_replace }}VIEW {{ name }} AS SELECT {{ definition }} AS diesel_counters_trigger;
