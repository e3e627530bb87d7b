package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/producer"
)

// loadedTasks are the rows of cron_task as this process last loaded them.
type loadedTasks interface {
	Tasks() []producer.Task
}

// taskList finds tasks among those that are loaded.
type taskList struct{ loadedTasks }

func (l taskList) find(is func(producer.Task) bool) (producer.Task, bool) {
	tasks := l.Tasks()
	if i := slices.IndexFunc(tasks, is); i >= 0 {
		return tasks[i], true
	}
	return producer.Task{}, false
}

func (l taskList) named(name string) (producer.Task, bool) {
	return l.find(func(t producer.Task) bool { return t.Name == name })
}

func (l taskList) byID(id int64) (producer.Task, bool) {
	return l.find(func(t producer.Task) bool { return t.ID == id })
}

// inPath finds the task that the path names.
func (l taskList) inPath(c *gin.Context) (producer.Task, error) {
	name := c.Param("name")
	t, known := l.named(name)
	if !known {
		return t, httpapi.NewProblem(http.StatusNotFound,
			"There is no task %q: the list of tasks has those that there are. If its row was just written, have the tasks "+
				"reloaded.", name)
	}
	return t, nil
}

// runnable returns a task that can run, or says why it cannot.
func (l taskList) runnable(id int64) (t producer.Task, why string) {
	switch t, known := l.byID(id); {
	case !known:
		return producer.Task{}, "the task was deleted; its dead subtasks can only be dropped"
	case !t.Usable:
		return producer.Task{}, "the row of the task cannot be used: put it right, then have the tasks reloaded"
	default:
		return t, ""
	}
}

// nameOf is what a task of dead subtasks is called: as it is now, else as its last run was, else by its id.
func (l taskList) nameOf(id int64, ofRun string) string {
	switch t, known := l.byID(id); {
	case known:
		return t.Name
	case ofRun != "":
		return ofRun
	}
	return "task " + formatID(id)
}
