package media

import "encoding/json"

// PullParams are the params of the tasks that pull lists, reports and money, for readers of cron_task other than the
// handler.
type PullParams struct {
	Mode        string `json:"mode"`
	Level       string `json:"level"`
	Days        int    `json:"days"`
	Skip        int    `json:"skip"`
	MovingHours int    `json:"moving_hours"`
}

// ReadPullParams decodes the params of a task as strictly as its handler does.
func ReadPullParams(params json.RawMessage) (PullParams, error) {
	var p PullParams
	err := CheckParams(params, &p)
	return p, err
}
