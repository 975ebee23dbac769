-- As such a forum counts: triggers that are written by hand, of each row.
CREATE FUNCTION bench_forum_vote_on_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        UPDATE bench_forum_posts SET score = score - OLD.vote,
            upvotes = upvotes - CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END,
            downvotes = downvotes - CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END
        WHERE id = OLD.post_id;
        UPDATE bench_forum_people SET post_score = post_score - OLD.vote
        WHERE id = (SELECT creator_id FROM bench_forum_posts WHERE id = OLD.post_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        UPDATE bench_forum_posts SET score = score + NEW.vote,
            upvotes = upvotes + CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END,
            downvotes = downvotes + CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END
        WHERE id = NEW.post_id;
        UPDATE bench_forum_people SET post_score = post_score + NEW.vote
        WHERE id = (SELECT creator_id FROM bench_forum_posts WHERE id = NEW.post_id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER bench_forum_vote_on_post AFTER INSERT OR DELETE OR UPDATE OF vote ON bench_forum_post_votes
    FOR EACH ROW EXECUTE FUNCTION bench_forum_vote_on_post();

CREATE FUNCTION bench_forum_vote_on_comment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        UPDATE bench_forum_comments SET score = score - OLD.vote,
            upvotes = upvotes - CASE WHEN OLD.vote > 0 THEN 1 ELSE 0 END,
            downvotes = downvotes - CASE WHEN OLD.vote < 0 THEN 1 ELSE 0 END
        WHERE id = OLD.comment_id;
        UPDATE bench_forum_people SET comment_score = comment_score - OLD.vote
        WHERE id = (SELECT creator_id FROM bench_forum_comments WHERE id = OLD.comment_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        UPDATE bench_forum_comments SET score = score + NEW.vote,
            upvotes = upvotes + CASE WHEN NEW.vote > 0 THEN 1 ELSE 0 END,
            downvotes = downvotes + CASE WHEN NEW.vote < 0 THEN 1 ELSE 0 END
        WHERE id = NEW.comment_id;
        UPDATE bench_forum_people SET comment_score = comment_score + NEW.vote
        WHERE id = (SELECT creator_id FROM bench_forum_comments WHERE id = NEW.comment_id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER bench_forum_vote_on_comment AFTER INSERT OR DELETE OR UPDATE OF vote ON bench_forum_comment_votes
    FOR EACH ROW EXECUTE FUNCTION bench_forum_vote_on_comment();

CREATE FUNCTION bench_forum_post() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was INTEGER := 0;
    becomes INTEGER := 0;
    post bench_forum_posts := COALESCE(NEW, OLD);
BEGIN
    IF TG_OP <> 'INSERT' AND NOT (OLD.deleted OR OLD.removed) THEN
        was := 1;
    END IF;
    IF TG_OP <> 'DELETE' AND NOT (NEW.deleted OR NEW.removed) THEN
        becomes := 1;
    END IF;
    IF was <> becomes THEN
        UPDATE bench_forum_communities SET posts = posts + becomes - was WHERE id = post.community_id AND local;
        UPDATE bench_forum_people SET post_count = post_count + becomes - was WHERE id = post.creator_id;
        IF post.local THEN
            UPDATE bench_forum_site SET posts = posts + becomes - was;
        END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
        UPDATE bench_forum_communities SET comments = comments - OLD.comments WHERE id = OLD.community_id AND local;
        UPDATE bench_forum_people SET post_score = post_score - OLD.score WHERE id = OLD.creator_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER bench_forum_post AFTER INSERT OR DELETE OR UPDATE OF deleted, removed ON bench_forum_posts
    FOR EACH ROW EXECUTE FUNCTION bench_forum_post();

CREATE FUNCTION bench_forum_comment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was INTEGER := 0;
    becomes INTEGER := 0;
    comment bench_forum_comments := COALESCE(NEW, OLD);
BEGIN
    IF TG_OP <> 'INSERT' AND NOT (OLD.deleted OR OLD.removed) THEN
        was := 1;
    END IF;
    IF TG_OP <> 'DELETE' AND NOT (NEW.deleted OR NEW.removed) THEN
        becomes := 1;
    END IF;
    IF was <> becomes THEN
        UPDATE bench_forum_posts SET comments = comments + becomes - was WHERE id = comment.post_id;
        UPDATE bench_forum_communities SET comments = comments + becomes - was
        WHERE id = (SELECT community_id FROM bench_forum_posts WHERE id = comment.post_id) AND local;
        UPDATE bench_forum_people SET comment_count = comment_count + becomes - was WHERE id = comment.creator_id;
        IF comment.local THEN
            UPDATE bench_forum_site SET comments = comments + becomes - was;
        END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
        UPDATE bench_forum_people SET comment_score = comment_score - OLD.score WHERE id = OLD.creator_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER bench_forum_comment AFTER INSERT OR DELETE OR UPDATE OF deleted, removed ON bench_forum_comments
    FOR EACH ROW EXECUTE FUNCTION bench_forum_comment();

UPDATE bench_forum_posts AS post SET comments = (
    SELECT COUNT(*) FROM bench_forum_comments WHERE post_id = post.id
);
UPDATE bench_forum_communities AS community SET
    posts = (SELECT COUNT(*) FROM bench_forum_posts WHERE community_id = community.id),
    comments = (SELECT COUNT(*) FROM bench_forum_comments WHERE community_id = community.id);
UPDATE bench_forum_people AS person SET
    post_count = (SELECT COUNT(*) FROM bench_forum_posts WHERE creator_id = person.id),
    comment_count = (SELECT COUNT(*) FROM bench_forum_comments WHERE creator_id = person.id)
WHERE id <= 100;
UPDATE bench_forum_site SET posts = (SELECT COUNT(*) FROM bench_forum_posts),
    comments = (SELECT COUNT(*) FROM bench_forum_comments);
