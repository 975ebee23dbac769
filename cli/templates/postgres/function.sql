{# It runs with the rights of its owner, so that whoever writes rows needs no right on the counters. Default
   privileges can let other roles use it, in triggers of their own: it counts only rows of its owner's table, and
   `check` names these roles. The comment of the first one has the definition, and so has its text: a dump can be
   without comments. #}
CREATE FUNCTION {{ name }}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off AS {{ body }};
{% if comment %}
COMMENT ON FUNCTION {{ name }}() IS {{ comment }};
{% endif %}
REVOKE EXECUTE ON FUNCTION {{ name }}() FROM PUBLIC;
