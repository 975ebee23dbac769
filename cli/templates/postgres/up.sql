{# Plain statements: Diesel runs a migration in a transaction, and LOCK TABLE says so if somebody doesn't. #}
{% from "existing.sql" import existing %}
{% import "postgres/write.sql" as write %}
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- Rows that a policy would hide are an error.
SET LOCAL row_security = off;
-- The functions run with the rights of whoever writes the rows. They find their tables in the schemas of this session,
-- and never in temporary tables.
SELECT set_config('search_path',
    (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name) || ', pg_temp', true);

{% if uses_slots %}
-- The slot of this session. Each session has a number: the lowest one that no other session has.
CREATE OR REPLACE FUNCTION diesel_counters_slot(slots INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $$
DECLARE
    number INTEGER := NULLIF(current_setting('diesel_counters.number', true), '');
BEGIN
    IF number IS NULL THEN
        SELECT free INTO number FROM generate_series(0, 999) AS free
        WHERE pg_try_advisory_lock(hashtext('diesel_counters'), free) LIMIT 1;
        number := COALESCE(number, pg_backend_pid());
        PERFORM set_config('diesel_counters.number', number::TEXT, false);
    END IF;
    RETURN 1 + number % slots;
END $$;

{% endif %}
-- Until this commits, writers of these tables wait{{ ", and readers of those in ACCESS EXCLUSIVE MODE" if has_drops }}.
{% for lock in locks %}
LOCK TABLE {{ lock.tables|wrapped }} IN {{ lock.mode }} MODE;
{% endfor %}
{% if drops %}

{{ drops|join("") }}
{%- endif %}
{% for plan in plans %}

{% set counters = plan.counters|wrapped("\n-- ") %}
{% if plan.drops %}
{{ plan.drops|join("") }}
{% endif %}
-- Counts the rows of {{ plan.rows }} in{{ "\n--" if counters|length > 60 }} {{ counters }}.
{{ plan.functions|join("\n") }}
{% for trigger in plan.triggers %}
{{ trigger.create }}
{%- endfor %}

{{ existing(plan.existing, write) }}
{% endfor %}
