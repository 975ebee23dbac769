{# Statements that change a schema commit, so a migration that failed half way leaves triggers. It can run again. #}
{% import "mysql/write.sql" as write %}
{% from "existing.sql" import existing %}
-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = '{{ sql_mode }}';

{% for plan in plans %}
{{ plan.view }}
{%- endfor %}

{% for plan in plans %}
{% set counters = plan.counters|wrapped("\n-- ") %}
-- Counts the rows of {{ plan.rows }} in{{ "\n--" if counters|length > 60 }} {{ counters }}.
{% endfor %}
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `diesel-counters recount{{ " " ~ names[0] if names|length == 1 }}`.
LOCK TABLES {{ locked|wrapped }};
{% if drops %}

{{ drops|join("") }}
{%- endif %}
{% for plan in plans %}
{% for trigger in plan.triggers %}

{{ trigger.comment }}{{ trigger.drop }}{{ trigger.create }}
{%- endfor %}

{{ existing(plan.existing, write) }}
{%- endfor %}

UNLOCK TABLES;
{{ dropped_definitions|join("") }}
{{- "" }}SET sql_mode = @sql_mode_before;
