{# Statements that change a schema commit, so a migration that failed half way leaves triggers. It can run again. Counts
   are written before triggers are created: LOCK TABLES doesn't know what a new trigger would write. #}
{% import "mysql/write.sql" as write %}
{% from "existing.sql" import existing %}
-- A trigger keeps the mode in which it is created.
SET @sql_mode_before = @@sql_mode, sql_mode = '{{ sql_mode }}';
{% if unlocked_drops %}
{{ unlocked_drops|join("") }}
{%- endif %}

{% for plan in plans %}
{% set counters = plan.counters|wrapped("\n-- ") %}
-- Counts the rows of {{ plan.rows }} in{{ "\n--" if counters|length > 60 }} {{ counters }}.
{% endfor %}
{% set recount = "diesel-counters recount" ~ (" " ~ names[0] if names|length == 1 else "") %}
{% if adds_differences %}
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then see what
-- `{{ recount }} --dry-run --lower` prints: it can have added something twice.
{% else %}
-- Until UNLOCK TABLES, other sessions wait for these tables. If this stops half way, run it again, and then
-- `{{ recount }}`.
{% endif %}
LOCK TABLES {{ locked|wrapped }};
{% if drops %}

{{ drops|join("") }}
{%- endif %}
{% for plan in plans %}

{{ plan.drops|join("") }}
{{- existing(plan.existing, write) }}
{%- endfor %}
{% for plan in plans %}
{%- for trigger in plan.triggers %}

{{ trigger.comment }}{{ trigger.drop if trigger.drop not in all_drops }}{{ trigger.create }}
{%- endfor %}
{% endfor %}

UNLOCK TABLES;
SET sql_mode = @sql_mode_before;
