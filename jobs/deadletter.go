package jobs

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/store/jobstore"
)

func (a *api) deadLetters(c *gin.Context) {
	n, oldest, err := a.queues.store.DeadLetters(c.Request.Context(), queueOf(c).ID())
	if err != nil {
		a.failed(c, "read the dead letters", err)
		return
	}
	head := ""
	if oldest != nil {
		head = oldest.ID.String()
	}
	c.JSON(http.StatusOK, gin.H{"namespace": c.Param("namespace"), "queue": c.Param("queue"), "deadletter_size": n,
		"deadletter_head": head})
}

func (a *api) deadSize(c *gin.Context) {
	n, _, err := a.queues.store.DeadLetters(c.Request.Context(), queueOf(c).ID())
	if err != nil {
		a.failed(c, "count the dead letters", err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"namespace": c.Param("namespace"), "queue": c.Param("queue"), "size": n})
}

const (
	// deadMax bounds what one request respawns or deletes.
	deadMax = 100_000
	// rateMin is the lowest rate at which dead letters are respawned, in jobs a second.
	rateMin = 0.001
)

func limitOf(c *gin.Context) (int, error) {
	n, err := strconv.ParseInt(c.DefaultQuery("limit", "1"), 10, 64)
	if err != nil || n <= 0 {
		return 0, invalid("invalid limit")
	}
	return int(min(n, deadMax)), nil
}

// filterOf reads which dead letters a request is about, besides their number.
func filterOf(c *gin.Context) (f jobstore.DeadFilter, limit int, err error) {
	if limit, err = limitOf(c); err != nil {
		return f, 0, err
	}
	if f.Error = c.Query("error"); len(f.Error) > reasonMax || !utf8.ValidString(f.Error) {
		return f, 0, invalid("invalid error: want a part of the dead letters' errors, up to %d bytes", reasonMax)
	}
	if text := c.Query("died_before"); text != "" {
		if f.Before, err = time.Parse(time.RFC3339, text); err != nil {
			return f, 0, invalid("invalid died_before: want a time such as 2026-11-29T12:00:00Z")
		}
	}
	return f, limit, nil
}

// detailOf returns what the audit shows of a change of dead letters.
func detailOf(f jobstore.DeadFilter, limit int) gin.H {
	detail := gin.H{"error": f.Error, "limit": limit}
	if !f.Before.IsZero() {
		detail["died_before"] = f.Before
	}
	return detail
}

func (a *api) respawn(c *gin.Context) {
	filter, limit, err := filterOf(c)
	var ttl int64
	if err == nil {
		ttl, err = strconv.ParseInt(c.DefaultQuery("ttl", strconv.Itoa(int(ttlDefault/time.Second))), 10, 64)
		if err != nil || ttl < 0 || ttl > 1<<32 {
			err = invalid("invalid ttl")
		}
	}
	how := jobstore.Respawned{TTL: time.Duration(ttl) * time.Second}
	if text, given := c.GetQuery("rate"); err == nil && given {
		rate, wrong := strconv.ParseFloat(text, 64)
		if wrong != nil || !(rate >= rateMin && rate <= deadMax) {
			err = invalid("invalid rate: want %g to %d jobs a second", rateMin, deadMax)
		}
		how.Every = time.Duration(float64(time.Second) / rate)
	}
	if err != nil {
		a.answerError(c, "respawn dead letters", err)
		return
	}
	respawned := 0
	detail := detailOf(filter, limit)
	err = a.audited(c, "dead letters respawned", "", detail, func() (any, error) {
		jobs, err := a.queues.store.Respawn(c.Request.Context(), queueOf(c).ID(), filter, limit, how, a.queues.clock.Now())
		respawned = len(jobs)
		a.queues.announce(jobs)
		a.queues.counts.lmstfy.add("deadletter_respawn_jobs", respawned)
		detail["count"] = respawned
		return detail, err
	})
	if err != nil {
		a.failed(c, "respawn dead letters", err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"msg": "respawned", "count": respawned})
}

func (a *api) dropDead(c *gin.Context) {
	filter, limit, err := filterOf(c)
	if err == nil {
		detail := detailOf(filter, limit)
		err = a.audited(c, "dead letters deleted", "", detail, func() (_ any, err error) {
			detail["count"], err = a.queues.store.DropDead(c.Request.Context(), queueOf(c).ID(), filter, limit)
			return detail, err
		})
	}
	if err != nil {
		a.answerError(c, "delete dead letters", err)
		return
	}
	c.Status(http.StatusNoContent)
}
