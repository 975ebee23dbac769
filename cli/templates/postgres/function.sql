CREATE FUNCTION {{ name }}() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT SET row_security = off AS {{ body }};
