{# A DO block is one statement: it keeps its locks to its end, also if the migration runs without a transaction. #}
{% import "postgres/write.sql" as write %}
{% from "existing.sql" import existing %}

#variable_conflict use_column
DECLARE
    counting_search_path TEXT := pg_catalog.current_setting('search_path');
    counting_row_security TEXT := pg_catalog.current_setting('row_security');
BEGIN
-- Names are those of the server's own functions, and a policy that would hide rows is an error.
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('row_security', 'off', true);
IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';
END IF;
-- The triggers run with the rights of this role, and the triggers of these tables run within them.
IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user
    AND oid IN ({{ owned|join(", ") }})) THEN
    RAISE 'run this migration as the role that owns its tables: % does not', current_user;
END IF;
{% if parents %}
-- The owner of a table that is read can have code run with the rights of this role, so it must have them already.
IF EXISTS (SELECT FROM pg_class WHERE NOT pg_has_role(relowner, current_user, 'USAGE')
    AND oid IN ({{ parents|join(", ") }})) THEN
    RAISE 'the owner of a table that the counters refer to could use the rights of %: give the tables to one role',
        current_user;
END IF;
{% endif %}
-- Until this ends, others cannot write these tables.
{% for lock in locks %}
LOCK TABLE {{ lock.tables|join(", ") }} IN {{ lock.mode }} MODE;
{% endfor %}
{{ drops|join("") }}
{%- for plan in plans %}

-- Counts the rows of {{ plan.rows }} in {{ plan.counters|join(", ") }}.
{{ plan.functions|join("") }}
{{- existing(plan.existing, write) }}
{%- for trigger in plan.triggers %}
{{ trigger.create }}
{%- endfor %}
{% endfor %}

PERFORM set_config('search_path', counting_search_path, true), set_config('row_security', counting_row_security, true);
END
