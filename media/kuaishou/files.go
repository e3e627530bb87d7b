package kuaishou

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"time"

	"adsync/media"
	"adsync/media/wire"
)

// The calls for files of old days (documents 2927 and 2928).
const (
	jobsEndpoint     = "v1/async_task/create"
	jobListEndpoint  = "v1/async_task/list"
	downloadEndpoint = "v1/async_task/download"
)

// filesDays is how many days before today files reach back: six months.
const filesDays = 180

// The states of a job.
const (
	jobDone   = 2
	jobFailed = 3
)

// files describes the days that come as files. That a file is CSV, and for how long it is kept, is not documented.
func (r report) files() *media.Files {
	files := &media.Files{
		PageDays: weekDays - 1, MaxDays: 31, Life: 24 * time.Hour, Interval: time.Minute,
		Create: r.createJob, Find: findJob, State: jobState, Open: openFile,
		Columns: func(q media.ReportQuery) []string { // Files have all fields that the platform knows.
			q.Extra = nil
			return append(r.keys(), q.Fields(r.figures().Fields())...)
		},
		Read: media.EachRow(func(line *wire.Row) media.Row { return r.read(line, media.ReportQuery{}) }),
	}
	if r.hourly {
		files.MaxDays = 7
	}
	byID := media.Split{Page: campaigns.split(""), Most: 200}
	if r.key == byUnit.key || r.key == byCreative.key {
		files.Splits = append(files.Splits, byID)
	}
	if r.key == byCreative.key {
		files.Splits = append(files.Splits, media.Split{Page: units.split("campaign_id"), Most: 100})
	}
	return files
}

// split lists the objects by which a file is narrowed, or those within a parent.
func (l objects) split(parent string) func(context.Context, media.API, media.ReportQuery, string) (media.Page, error) {
	return func(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
		body := of(api, l.filter)
		if parent != "" && len(q.Within) == 1 {
			body[parent] = json.Number(q.Within[0])
		}
		return rowsOf(l.endpoint, l.size).PostPage(ctx, api, page, body, media.EachRow(l.read))
	}
}

// createJob implements media.Files.Create. A name is unique in an account and has at most 50 characters. The code for a
// name that is taken is not documented: after any error of a wrong request the job is looked for.
func (r report) createJob(ctx context.Context, api media.API, name string, q media.ReportQuery) (id string, err error) {
	r = r.of(q.Variant)
	params := map[string]any{
		"start_date": q.From, "end_date": q.To, "view_type": r.view, "temporal_granularity": r.granularity(),
	}
	if len(q.Within) > 0 {
		within := make([]json.Number, len(q.Within))
		for i, object := range q.Within {
			within[i] = json.Number(object)
		}
		field := "campaign_ids"
		if r.key == byCreative.key && q.WithinLevel == 2 {
			field = "unit_ids"
		}
		params[field] = within
	}
	data, err := api.Post(ctx, jobsEndpoint, of(api, map[string]any{"task_name": name, "task_params": params}))
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Bug {
		if id, found := findJob(ctx, api, name); found == nil && id != "" {
			return id, nil
		}
	}
	if err != nil {
		return "", err
	}
	answer := wire.Open(data)
	if id = answer.KeyNumber("task_id"); id == "" {
		return "", &media.Error{Class: media.Transient, Message: "the answer of " + jobsEndpoint + " has no task_id"}
	}
	return id, nil
}

// jobsPage is how many jobs a page of the list holds.
const jobsPage = 50

// findJob implements media.Files.Find: it reads the list of all jobs, the newest of which are first.
func findJob(ctx context.Context, api media.API, name string) (id string, err error) {
	list := rowsOf(jobListEndpoint, jobsPage)
	for token := ""; ; {
		page, err := list.PostPage(ctx, api, token, of(api, nil), func(_ *media.Page, raw json.RawMessage) {
			if job := wire.Open(raw); job.Text("task_name") == name {
				id = job.KeyNumber("task_id")
			}
		})
		if err != nil || id != "" || page.Next == "" {
			return id, err
		}
		token = page.Next
	}
}

func jobState(ctx context.Context, api media.API, id string) (media.Job, error) {
	data, err := api.Post(ctx, jobListEndpoint, of(api, map[string]any{"task_ids": []json.Number{json.Number(id)},
		"page": 1, "page_size": jobsPage}))
	if err != nil {
		return media.Job{}, err
	}
	var answer struct {
		Details wire.List `json:"details"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Job{}, media.Broken(jobListEndpoint, err)
	}
	i := slices.IndexFunc(answer.Details, func(raw json.RawMessage) bool {
		return wire.Open(raw).KeyNumber("task_id") == id
	})
	if i < 0 {
		return media.Job{}, media.ErrJobGone
	}
	row := wire.Open(answer.Details[i])
	job := media.Job{ID: id, Size: -1, Rows: -1}
	switch status := row.Int("task_status"); {
	case status.Set && status.Value == jobDone:
		job.State = media.JobDone
		if size := row.Int("file_size"); size.Set && size.Value > 0 {
			job.Size = size.Value
		}
	case status.Set && status.Value == jobFailed:
		job.State, job.Reason = media.JobFailed, "task_status 3"
	}
	return job, nil
}

func openFile(ctx context.Context, api media.FileAPI, job media.Job) (io.ReadCloser, error) {
	file, err := api.Open(ctx, downloadEndpoint, url.Values{"advertiser_id": {api.Account().ExternalID},
		"task_id": {job.ID}})
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Bug {
		return nil, media.ErrJobGone // The code for a file that is no longer kept is not documented.
	}
	if err != nil {
		return nil, err
	}
	if file.Body == nil {
		return nil, &media.Error{Class: media.Transient, Message: "the answer of " + downloadEndpoint + " is not a file"}
	}
	return file.Body, nil
}
