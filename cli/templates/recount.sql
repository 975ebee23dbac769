{# The statements of a recount of one table, as blocks, in the order in which they run. It lists the entities with wrong
   counts, and takes a batch of them at a time. MySQL cannot read a temporary table twice in one statement, so that a
   batch has copies. #}
{% import database ~ "/write.sql" as write %}
{% from "rows.sql" import drift %}
{% from "correct.sql" import correct %}
{% from "temporary.sql" import create %}

{# Keeps TRUNCATE of PostgreSQL out. A query that waited for one would read the rows as after it, and the counts as
   before it. It keeps DROP TRIGGER out, too, so that the triggers stay what they are. #}
{% block guard %}
LOCK TABLE {{ tables|join(", ") }} IN ACCESS SHARE MODE
{%- endblock %}

{# A migration that locks the table against writers would wait for the rows that are locked, and this for the table. #}
{% block lock_table %}
LOCK TABLE {{ table }} IN ROW EXCLUSIVE MODE
{%- endblock %}

{# Waits for the write lock of SQLite, and deletes nothing. #}
{% block wait %}
DELETE FROM {{ table }} WHERE 0
{%- endblock %}

{% block list %}
{{ create(database, listed, key) }} SELECT DISTINCT {{ entity_columns }} FROM {{ drift(all_drift) }}
{%- endblock %}

{# An empty list, which has the types of the key. #}
{% block list_none %}
{{ create(database, listed, key) }} SELECT {{ entity_columns }} FROM {{ table }} WHERE 1 = 0
{%- endblock %}

{% block list_into %}
INSERT INTO {{ listed }} SELECT DISTINCT {{ entity_columns }} FROM {{ drift(all_drift) }}
{%- endblock %}

{# The one entity that is asked for. #}
{% block list_one %}
INSERT INTO {{ listed }} VALUES ({{ entity|join(", ") }})
{%- endblock %}

{% block count_listed %}
SELECT {{ number_of_rows }} AS number_of_entities FROM {{ listed }}
{%- endblock %}

{% block take_batch %}
{{ create(database, batch, key) }} SELECT * FROM {{ listed }}
{%- if key %} ORDER BY {{ key|join(", ") }}{% endif %} LIMIT {{ size }}
{%- endblock %}

{% block copy_batch %}
{{ create(database, copy, key) }} SELECT * FROM {{ batch }}
{%- endblock %}

{# In slots, the lock of an entity is its row of 1970-01-01 in the slot of merged rows. #}
{% block lock_slots %}
{{ correct(lock, batch ~ " AS locked" ~ (" WHERE " ~ exists|join(" AND ") if exists else ""), write) }}
{%- endblock %}

{% block lock_rows %}
SELECT {{ number_of_rows }} AS number_of_entities FROM (
    SELECT 1 FROM {{ table }} AS {{ all_drift.name }} JOIN {{ batch }} AS locked ON {{ is_locked }}
{% if locked_key %}
    ORDER BY {{ locked_key|join(", ") }}
{% endif %}
    {{ for_update }}
) AS locks
{%- endblock %}

{% block find_wrong %}
{{ create(database, found, group) }} SELECT {{ "1 AS entity, " if not group }}{{ all_drift.name }}.* FROM {{ drift(batch_drift) }}
{%- endblock %}

{# An empty table, which has the types of the key, and counts of any size. #}
{% block find_none %}
{{ create(database, found, group) }} SELECT {{ group|join(", ") }}, {{ zeros|join(", ") }} FROM {{ table }} WHERE 1 = 0
{%- endblock %}

{% block find_into %}
INSERT INTO {{ found }} SELECT {{ all_drift.name }}.* FROM {{ drift(batch_drift) }}
{%- endblock %}

{% block wrong %}
SELECT {{ text_columns|join(", ") }} FROM {{ drift(all_drift) }}
{%- if group %} ORDER BY {{ group|join(", ") }}{% endif %}
{%- endblock %}

{% block wrong_of_batch %}
SELECT {{ text_columns|join(", ") }} FROM {{ found }} AS {{ all_drift.name }}
{%- if group %} ORDER BY {{ group|join(", ") }}{% endif %}
{%- endblock %}

{% block correct %}
{{ correct(correction, found ~ " AS " ~ all_drift.name, write) }}
{%- endblock %}

{# What a correction has not changed. #}
{% block still_wrong %}
SELECT {{ text_columns|join(", ") }} FROM {{ drift(batch_drift) }}
{%- if group %} ORDER BY {{ group|join(", ") }}{% endif %}
{%- endblock %}

{% block remove_batch %}
DELETE FROM {{ listed }} WHERE EXISTS (SELECT 1 FROM {{ batch }} AS locked WHERE {{ is_done }})
{%- endblock %}
