-- As such a forum counts: triggers that are written by hand.
CREATE TRIGGER bench_forum_post_vote AFTER INSERT ON bench_forum_post_votes FOR EACH ROW BEGIN
    UPDATE bench_forum_posts SET score = score + NEW.vote,
        upvotes = upvotes + (NEW.vote > 0), downvotes = downvotes + (NEW.vote < 0)
    WHERE id = NEW.post_id;
    UPDATE bench_forum_people SET post_score = post_score + NEW.vote
    WHERE id = (SELECT creator_id FROM bench_forum_posts WHERE id = NEW.post_id);
END;
CREATE TRIGGER bench_forum_post_vote_changes AFTER UPDATE ON bench_forum_post_votes FOR EACH ROW BEGIN
    UPDATE bench_forum_posts SET score = score + NEW.vote - OLD.vote,
        upvotes = upvotes + (NEW.vote > 0) - (OLD.vote > 0), downvotes = downvotes + (NEW.vote < 0) - (OLD.vote < 0)
    WHERE id = NEW.post_id;
    UPDATE bench_forum_people SET post_score = post_score + NEW.vote - OLD.vote
    WHERE id = (SELECT creator_id FROM bench_forum_posts WHERE id = NEW.post_id);
END;
CREATE TRIGGER bench_forum_post_vote_ends AFTER DELETE ON bench_forum_post_votes FOR EACH ROW BEGIN
    UPDATE bench_forum_posts SET score = score - OLD.vote,
        upvotes = upvotes - (OLD.vote > 0), downvotes = downvotes - (OLD.vote < 0)
    WHERE id = OLD.post_id;
    UPDATE bench_forum_people SET post_score = post_score - OLD.vote
    WHERE id = (SELECT creator_id FROM bench_forum_posts WHERE id = OLD.post_id);
END;
CREATE TRIGGER bench_forum_comment_vote AFTER INSERT ON bench_forum_comment_votes FOR EACH ROW BEGIN
    UPDATE bench_forum_comments SET score = score + NEW.vote,
        upvotes = upvotes + (NEW.vote > 0), downvotes = downvotes + (NEW.vote < 0)
    WHERE id = NEW.comment_id;
    UPDATE bench_forum_people SET comment_score = comment_score + NEW.vote
    WHERE id = (SELECT creator_id FROM bench_forum_comments WHERE id = NEW.comment_id);
END;
CREATE TRIGGER bench_forum_post AFTER INSERT ON bench_forum_posts FOR EACH ROW BEGIN
    UPDATE bench_forum_communities SET posts = posts + 1 WHERE id = NEW.community_id AND local;
    UPDATE bench_forum_people SET post_count = post_count + 1 WHERE id = NEW.creator_id;
    IF NEW.local THEN
        UPDATE bench_forum_site SET posts = posts + 1;
    END IF;
END;
CREATE TRIGGER bench_forum_post_changes AFTER UPDATE ON bench_forum_posts FOR EACH ROW BEGIN
    IF NEW.deleted <> OLD.deleted THEN
        UPDATE bench_forum_communities SET posts = posts + OLD.deleted - NEW.deleted
        WHERE id = NEW.community_id AND local;
        UPDATE bench_forum_people SET post_count = post_count + OLD.deleted - NEW.deleted WHERE id = NEW.creator_id;
        IF NEW.local THEN
            UPDATE bench_forum_site SET posts = posts + OLD.deleted - NEW.deleted;
        END IF;
    END IF;
END;
CREATE TRIGGER bench_forum_comment AFTER INSERT ON bench_forum_comments FOR EACH ROW BEGIN
    UPDATE bench_forum_posts SET comments = comments + 1 WHERE id = NEW.post_id;
    UPDATE bench_forum_communities SET comments = comments + 1
    WHERE id = (SELECT community_id FROM bench_forum_posts WHERE id = NEW.post_id) AND local;
    UPDATE bench_forum_people SET comment_count = comment_count + 1 WHERE id = NEW.creator_id;
    IF NEW.local THEN
        UPDATE bench_forum_site SET comments = comments + 1;
    END IF;
END;
CREATE TRIGGER bench_forum_comment_changes AFTER UPDATE ON bench_forum_comments FOR EACH ROW BEGIN
    IF NEW.deleted <> OLD.deleted THEN
        UPDATE bench_forum_posts SET comments = comments + OLD.deleted - NEW.deleted WHERE id = NEW.post_id;
        UPDATE bench_forum_communities SET comments = comments + OLD.deleted - NEW.deleted
        WHERE id = (SELECT community_id FROM bench_forum_posts WHERE id = NEW.post_id) AND local;
        UPDATE bench_forum_people SET comment_count = comment_count + OLD.deleted - NEW.deleted
        WHERE id = NEW.creator_id;
        IF NEW.local THEN
            UPDATE bench_forum_site SET comments = comments + OLD.deleted - NEW.deleted;
        END IF;
    END IF;
END;
CREATE TRIGGER bench_forum_comment_ends AFTER DELETE ON bench_forum_comments FOR EACH ROW BEGIN
    IF NOT OLD.deleted THEN
        UPDATE bench_forum_posts SET comments = comments - 1 WHERE id = OLD.post_id;
        UPDATE bench_forum_communities SET comments = comments - 1
        WHERE id = (SELECT community_id FROM bench_forum_posts WHERE id = OLD.post_id) AND local;
        UPDATE bench_forum_people SET comment_count = comment_count - 1 WHERE id = OLD.creator_id;
        IF OLD.local THEN
            UPDATE bench_forum_site SET comments = comments - 1;
        END IF;
    END IF;
    UPDATE bench_forum_people SET comment_score = comment_score - OLD.score WHERE id = OLD.creator_id;
END;

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
