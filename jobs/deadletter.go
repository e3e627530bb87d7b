package jobs

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
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

// deadMax bounds what one request respawns or deletes.
const deadMax = 100_000

func limitOf(c *gin.Context) (int, error) {
	n, err := strconv.ParseInt(c.DefaultQuery("limit", "1"), 10, 64)
	if err != nil || n <= 0 {
		return 0, invalid("invalid limit")
	}
	return int(min(n, deadMax)), nil
}

func (a *api) respawn(c *gin.Context) {
	limit, err := limitOf(c)
	var ttl int64
	if err == nil {
		ttl, err = strconv.ParseInt(c.DefaultQuery("ttl", strconv.Itoa(int(ttlDefault/time.Second))), 10, 64)
		if err != nil || ttl < 0 || ttl > 1<<32 {
			err = invalid("invalid ttl")
		}
	}
	if err != nil {
		a.answerError(c, "respawn dead letters", err)
		return
	}
	jobs, err := a.queues.store.Respawn(c.Request.Context(), queueOf(c).ID(), limit, time.Duration(ttl)*time.Second,
		a.queues.clock.Now())
	a.queues.announce(jobs)
	if err != nil {
		a.failed(c, "respawn dead letters", err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"msg": "respawned", "count": len(jobs)})
}

func (a *api) dropDead(c *gin.Context) {
	limit, err := limitOf(c)
	if err == nil {
		_, err = a.queues.store.DropDead(c.Request.Context(), queueOf(c).ID(), limit)
	}
	if err != nil {
		a.answerError(c, "delete dead letters", err)
		return
	}
	c.Status(http.StatusNoContent)
}
