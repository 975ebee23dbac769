{# The statements of a recount of one table, as blocks. It lists the entities with wrong counts, and takes a batch of
   them at a time. MySQL cannot read a temporary table twice in a statement, so that each use of a batch has a copy. #}
{% import database ~ "/write.sql" as write %}
{% from "rows.sql" import drift %}
{% from "correct.sql" import correct %}
{% from "temporary.sql" import create %}

{# No TRUNCATE of PostgreSQL can come from here on. A query that waits for one would read the rows of after it, and
   the counts of before it. #}
{% block guard %}
LOCK TABLE {{ tables|join(", ") }} IN ACCESS SHARE MODE
{%- endblock %}

{# Waits for the write lock of SQLite, and deletes nothing. #}
{% block wait %}
DELETE FROM {{ table }} WHERE 0
{%- endblock %}

{% block list %}
{{ create(database, listed, key) }} SELECT DISTINCT {{ entities }} FROM {{ drift(all) }}
{%- endblock %}

{# One entity in place of the list. The temporary table has the types of the key. #}
{% block list_none %}
{{ create(database, listed, key) }} SELECT {{ entities }} FROM {{ table }} WHERE 1 = 0
{%- endblock %}

{% block list_one %}
INSERT INTO {{ listed }} VALUES ({{ entity|join(", ") }})
{%- endblock %}

{% block number %}
SELECT {{ number_of_rows }} AS entities FROM {{ listed }}
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
SELECT {{ number_of_rows }} AS entities FROM (
    SELECT 1 FROM {{ table }} AS {{ all.name }} JOIN {{ batch }} AS locked ON {{ is_locked }}
{% if locked_key %}
    ORDER BY {{ locked_key|join(", ") }}
{% endif %}
    {{ for_update }}
) AS locks
{%- endblock %}

{% block find %}
{{ create(database, found, group) }} SELECT {{ "1 AS entity, " if not group }}{{ all.name }}.* FROM {{ drift(of_batch) }}
{%- endblock %}

{% block wrong %}
SELECT {{ texts|join(", ") }} FROM {{ drift(all) }}
{%- if group %} ORDER BY {{ group|join(", ") }}{% endif %}
{%- endblock %}

{% block wrong_of_batch %}
SELECT {{ texts|join(", ") }} FROM {{ found }} AS {{ all.name }}
{%- if group %} ORDER BY {{ group|join(", ") }}{% endif %}
{%- endblock %}

{% block correct %}
{{ correct(correction, found ~ " AS " ~ all.name, write) }}
{%- endblock %}

{# What a correction has not changed. #}
{% block still_wrong %}
SELECT {{ texts|join(", ") }} FROM {{ drift(of_batch) }}
{%- if group %} ORDER BY {{ group|join(", ") }}{% endif %}
{%- endblock %}

{% block done %}
DELETE FROM {{ listed }} WHERE EXISTS (SELECT 1 FROM {{ batch }} AS locked WHERE {{ is_done }})
{%- endblock %}
