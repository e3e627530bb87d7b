package invented

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strconv"
	"time"

	"adsync/media"
	"adsync/media/wire"
)

// pageDays is how many days before today Orchid's pages of reports still have.
const pageDays = 60

// files describes the days of an Orchid report that come as files.
func (r report) files() *media.Files {
	files := &media.Files{
		PageDays: pageDays, MaxDays: 31, Life: time.Hour, Interval: 20 * time.Second,
		Create: r.createJob, Find: findJob, State: jobState, Open: openFile,
		Columns: func(q media.ReportQuery) []string { return append(r.keys(), q.Fields(r.figures().Fields())...) },
		Account: "account",
		Read: media.EachRow(func(line *wire.Row) media.Row {
			return r.readFrom(line, line)
		}),
	}
	switch r.level {
	case "adgroup":
		files.Splits = []media.Split{{Page: objectsOf(campaigns), Most: 50}}
	case "creative":
		files.Splits = []media.Split{{Page: objectsOf(campaigns), Most: 50}, {Page: objectsOf(adgroups), Most: 100}}
	}
	return files
}

// objectsOf lists the objects of a level by which a file is narrowed.
func objectsOf(level object) func(context.Context, media.API, media.ReportQuery, string) (media.Page, error) {
	return func(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
		query := url.Values{"account": {api.Account().ExternalID}}
		if len(q.Within) > 0 {
			query.Set("within", asJSON(q.Within))
		}
		return level.ask(ctx, api, query, page)
	}
}

func (r report) createJob(ctx context.Context, api media.API, name string, q media.ReportQuery) (id string, err error) {
	fields := q.Fields(r.figures().Fields())
	data, err := api.Post(ctx, "jobs", map[string]any{
		"account": api.Account().ExternalID, "name": name, "level": r.level, "from": q.From, "to": q.To, "within": q.Within,
		"fields": append(r.keys(), fields...),
	})
	if e, ok := errors.AsType[*media.Error](err); ok && e.Code == strconv.Itoa(jobExists) {
		return "", media.ErrJobExists
	}
	if err != nil {
		return "", media.NameField(err, fields, strconv.Itoa(unknownField))
	}
	return wire.Open(data).Key("job"), nil
}

func findJob(ctx context.Context, api media.API, name string) (id string, err error) {
	data, err := api.Get(ctx, "jobs", url.Values{"account": {api.Account().ExternalID}, "name": {name}})
	if err != nil {
		return "", err
	}
	var answer struct {
		List []struct {
			Job string `json:"job"`
		} `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", media.Broken("jobs", err)
	}
	for _, job := range answer.List {
		id = job.Job
	}
	return id, nil
}

func jobState(ctx context.Context, api media.API, id string) (media.Job, error) {
	data, err := api.Get(ctx, "job", url.Values{"job": {id}})
	if err != nil {
		return media.Job{}, gone(err)
	}
	answer := wire.Open(data)
	job := media.Job{ID: id, Reason: answer.Text("reason"), Size: -1, Rows: -1}
	if size := answer.Int("size"); size.Set {
		job.Size = size.Value
	}
	switch answer.Text("state") {
	case "done":
		job.State = media.JobDone
	case "failed":
		job.State = media.JobFailed
	}
	return job, nil
}

func openFile(ctx context.Context, api media.FileAPI, job media.Job) (io.ReadCloser, error) {
	file, err := api.Open(ctx, "file", url.Values{"job": {job.ID}})
	if err != nil {
		return nil, gone(err)
	}
	if file.Body == nil {
		return nil, &media.Error{Class: media.Transient, Message: "the answer is not a file"}
	}
	return file.Body, nil
}

// gone returns media.ErrJobGone for the code of an unknown job.
func gone(err error) error {
	if e, ok := errors.AsType[*media.Error](err); ok && e.Code == strconv.Itoa(jobUnknown) {
		return media.ErrJobGone
	}
	return err
}
