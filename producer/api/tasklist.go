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

// taskList finds tasks among the loaded ones.
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
			"There is no task %q: want one in the list of tasks. If its row was just written, reload the tasks first.", name)
	}
	return t, nil
}

// runnable returns a task that can run, or the reason why it cannot.
func (l taskList) runnable(id int64) (t producer.Task, why string) {
	switch t, known := l.byID(id); {
	case !known:
		return producer.Task{}, "the task was deleted; its dead subtasks can only be dropped"
	case !t.Usable:
		return producer.Task{}, "the row of the task is not usable: correct it, then reload the tasks"
	default:
		return t, ""
	}
}

// nameOf returns the name of a task of dead subtasks: the current name, or that of its last run, or its id.
func (l taskList) nameOf(id int64, ofRun string) string {
	switch t, known := l.byID(id); {
	case known:
		return t.Name
	case ofRun != "":
		return ofRun
	}
	return "task " + formatID(id)
}
