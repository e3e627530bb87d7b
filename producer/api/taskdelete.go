package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/client"
)

// openRunsShown is how many open runs of a deleted task the answer names at most: far more than a task has.
const openRunsShown = 10_000

// deleteTask deletes a task. Its open runs continue to their end, and the answer names them.
func (a *taskRoutes) deleteTask(c *gin.Context) (any, error) {
	name, ctx := c.Param("name"), c.Request.Context()
	row, err := a.store.DeleteTask(ctx, a.editor(c, "task.delete"), name, func(table settings.TaskTable) error {
		var after []string
		for _, r := range table.Rows {
			if slices.Contains(strings.Split(r.After, ","), name) {
				after = append(after, r.Name)
			}
		}
		if len(after) > 0 {
			return httpapi.NewProblem(http.StatusConflict,
				"Tasks start after this one: %s. Change their after first, or delete them.", strings.Join(after, ", "))
		}
		return nil
	})
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, a.notInTable(c)
	}
	if err != nil {
		return nil, err
	}
	runs, err := a.store.OpenRuns(ctx, []int64{row.ID}, openRunsShown)
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs) // The newest first.
	answer := client.DeletedTask{ID: formatID(row.ID), Name: row.Name, OpenRuns: []string{}}
	for i := range runs {
		answer.OpenRuns = append(answer.OpenRuns, formatID(runs[i].ID))
	}
	return answer, a.producer.Reload(ctx)
}
