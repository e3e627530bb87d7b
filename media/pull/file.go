package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/failpoint"
	"adsync/base/store/results"
	"adsync/media"
)

const (
	// failuresMax is how many jobs of one file may fail before the file is split.
	failuresMax = 3
	// createTime is how long a create call can be under way, also in a process that was paused. Until then another
	// delivery of the subtask does not take its job for lost.
	createTime = 2 * time.Minute
	// takenWait is how long a delivery waits while another one of the same subtask works on the jobs.
	takenWait = 5 * time.Second
	// firstLook is when a new job is looked at for the first time.
	firstLook = 5 * time.Second
	// piecesMax is how many files one pull may be split into.
	piecesMax = 1_000
)

// filePull is the state of a pull whose days come as files, between its deliveries. It is stored before each step that
// the platform sees, so that after a kill the next delivery knows what may have happened.
type filePull struct {
	// Version and PullID are those of the claim. They are set when the first job is about to be created.
	Version int64  `json:"version,omitempty"`
	PullID  string `json:"pull_id,omitempty"`
	// Extra and Without are the query's: all files of a pull have the same columns.
	Extra   []string    `json:"extra,omitempty"`
	Without []string    `json:"without,omitempty"`
	Pieces  []filePiece `json:"pieces"`

	revision int64
}

// hasJobs reports whether a job of the pull may exist. It has none at the beginning, and when all came to nothing.
func (p *filePull) hasJobs() bool {
	return slices.ContainsFunc(p.Pieces, func(f filePiece) bool { return f.Name != "" })
}

// filePiece is one file of a pull.
type filePiece struct {
	Variant string  `json:"variant,omitempty"`
	From    day.Day `json:"from"`
	To      day.Day `json:"to"`
	// Within are the objects of the Split before Level that the file is narrowed to; empty at Level 0.
	Within   []string `json:"within,omitempty"`
	Level    int      `json:"level,omitempty"`
	Failures int      `json:"failures,omitempty"`

	// Name is our name of the job, and ID the platform's.
	Name string `json:"name,omitempty"`
	ID   string `json:"id,omitempty"`
	// CreatedAt is when the job was created, or was about to be; Unsure means that no answer to the call is known and no
	// process waits for one.
	CreatedAt time.Time `json:"created_at,omitzero"`
	Unsure    bool      `json:"unsure,omitempty"`
}

// forget makes the piece need a new job.
func (f *filePiece) forget() { f.Name, f.ID, f.CreatedAt, f.Unsure = "", "", time.Time{}, false }

func (f *filePiece) query(p *filePull) media.ReportQuery {
	return media.ReportQuery{Variant: f.Variant, From: f.From, To: f.To, Within: f.Within, WithinLevel: f.Level,
		Extra: p.Extra, Without: p.Without}
}

// errTaken defers a delivery whose subtask another delivery works on.
var errTaken = &media.DeferError{After: takenWait, Reason: "another delivery of the subtask works on its files"}

// byFile reports whether the days from one on come as files.
func (p *puller) byFile(report media.Report, account media.Account, from day.Day) bool {
	return report.Files != nil && from < day.Of(p.Clock.Now(), account.Zone).Add(-report.Files.PageDays)
}

// filing is one delivery of a pull of files.
type filing struct {
	*puller
	work    media.Work
	account media.Account
	report  media.Report
	api     media.CountingAPI
	pull    filePull
	claim   *results.Claim // of a pull whose first job is being created
}

// runFiles does the next step of a pull of files, and the write when all files are there.
func (p *puller) runFiles(ctx context.Context, work media.Work, account media.Account, report media.Report,
	scope results.Scope) (media.Result, error) {
	f := &filing{puller: p, work: work, account: account, report: report, api: p.Caller.For(account)}
	result, err := f.run(ctx, scope)
	if err != nil {
		err = fmt.Errorf("fetch files of %s of account %s for %s: %w", report.Name, account.ExternalID, work.Part, err)
	}
	return media.Result{Rows: result.Written + result.Deleted, Calls: f.api.Calls()}, err
}

func (f *filing) run(ctx context.Context, scope results.Scope) (results.ReportResult, error) {
	if err := f.load(ctx, scope); err != nil {
		return results.ReportResult{}, err
	}
	if !f.pull.hasJobs() {
		// The figures will be newer than any claim made before.
		var err error
		if ctx, f.claim, _, err = f.begin(ctx, scope, f.work); err != nil {
			return results.ReportResult{}, err
		}
	}
	got, err := f.fetch(ctx)
	if err != nil {
		return results.ReportResult{}, err
	}
	claim := results.Claim{Scope: scope, Version: f.pull.Version, PullID: f.pull.PullID, RunID: f.work.RunID}
	result, err := f.writeReport(ctx, f.account, f.report, claim, got, f.work)
	if _, judged := errors.AsType[*media.Error](err); err != nil && !judged && !errors.Is(err, media.ErrSuperseded) {
		return result, err // It waits for another pull, or the database failed: the files are read again.
	}
	failpoint.Hit("pull.files.written")
	// The pull is over. After an answer that was not believed, the next try needs newer figures.
	return result, errors.Join(err, f.Store.DropFilePull(ctx, f.work.Key))
}

// load reads the state of the pull, or begins it with one file of each variant for all days.
func (f *filing) load(ctx context.Context, scope results.Scope) error {
	text, revision, err := f.Store.ReadFilePull(ctx, f.work.Key)
	if err != nil {
		return err
	}
	if text == "" {
		for _, variant := range variantsOf(f.report) {
			f.pull.Pieces = append(f.pull.Pieces, filePiece{Variant: variant, From: scope.Days[0],
				To: scope.Days[len(scope.Days)-1]})
		}
	} else {
		if err := json.Unmarshal([]byte(text), &f.pull); err != nil {
			return fmt.Errorf("read the pull of files of %v: %w", f.work.Key, err)
		}
	}
	f.pull.revision = revision
	return nil
}

// save stores the state of the pull. It returns errTaken if another delivery has changed it since.
func (f *filing) save(ctx context.Context) error {
	if f.claim != nil { // Its version rises when the limits grant the call.
		f.pull.Version, f.pull.PullID = f.claim.Version, f.claim.PullID
	}
	text, err := json.Marshal(f.pull)
	if err != nil {
		return fmt.Errorf("write the pull of files of %v: %w", f.work.Key, err)
	}
	ok, err := f.Store.WriteFilePull(ctx, f.work.Key, string(text), f.pull.revision)
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	f.pull.revision++
	return nil
}

// fetch brings all files one step further. When all are there it reads them.
func (f *filing) fetch(ctx context.Context) (fetched, error) {
	var jobs []media.Job
	var waits *media.DeferError
	for i := range f.pull.Pieces {
		job, err := f.advance(ctx, i)
		if later, ok := errors.AsType[*media.DeferError](err); ok {
			if waits == nil || later.After < waits.After {
				waits = later
			}
			continue
		}
		if err != nil {
			return fetched{}, err
		}
		jobs = append(jobs, job)
	}
	if waits != nil {
		return fetched{}, waits
	}
	failpoint.Hit("pull.files.made")
	var all fetched
	for i, job := range jobs {
		got, err := f.read(ctx, i, job)
		if err != nil {
			return fetched{}, err
		}
		all.merge(got)
	}
	return all, nil
}

// advance returns a file's job if the file can be read, and a *media.DeferError if it is to be made.
func (f *filing) advance(ctx context.Context, i int) (media.Job, error) {
	piece := &f.pull.Pieces[i]
	if piece.ID == "" {
		if err := f.ensure(ctx, i); err != nil {
			return media.Job{}, err
		}
	}
	job, err := f.report.Files.State(ctx, f.api, piece.ID)
	switch {
	case errors.Is(err, media.ErrJobGone):
		return job, f.again(ctx, i, "expired", "its job "+piece.ID+" is gone")
	case err != nil:
		return job, err
	case job.State == media.JobDone:
		return job, nil
	case job.State == media.JobFailed:
		return job, f.failed(ctx, i, job)
	case f.Clock.Now().After(piece.CreatedAt.Add(f.report.Files.Life)):
		return job, f.again(ctx, i, "expired", fmt.Sprintf("its job %s has no file after %s", piece.ID, f.report.Files.Life))
	}
	return job, f.making(*piece)
}

// ensure makes sure that a piece has a job whose id is known.
func (f *filing) ensure(ctx context.Context, i int) error {
	piece := &f.pull.Pieces[i]
	switch {
	case piece.Name == "":
		return f.create(ctx, i)
	case !piece.Unsure && f.Clock.Now().Before(piece.CreatedAt.Add(createTime)):
		return errTaken // It may still be creating it.
	case f.report.Files.Find == nil:
		// The job may exist: nobody will ever read it.
		f.count("orphaned")
		piece.forget()
		return f.create(ctx, i)
	}
	id, err := f.report.Files.Find(ctx, f.api, piece.Name)
	if err != nil {
		return err
	}
	if id == "" {
		return f.create(ctx, i)
	}
	f.count("found")
	piece.ID, piece.Unsure = id, false
	return f.save(ctx)
}

// create creates the job of a piece. Its name is stored before the call. It returns a *media.DeferError when the job
// is created.
func (f *filing) create(ctx context.Context, i int) error {
	err := f.withFields(ctx, f.report, media.ReportQuery{}, func(_ media.Report, fields media.ReportQuery) error {
		if !f.pull.hasJobs() {
			f.pull.Extra, f.pull.Without = fields.Extra, fields.Without
		}
		piece := &f.pull.Pieces[i]
		if piece.Name == "" {
			piece.Name = "adsync-" + strings.ReplaceAll(newPullID(), "-", "")
		}
		piece.CreatedAt, piece.Unsure = f.Clock.Now(), false
		if err := f.save(ctx); err != nil {
			return err
		}
		failpoint.Hit("pull.files.named")
		id, err := f.report.Files.Create(ctx, f.api, piece.Name, piece.query(&f.pull))
		failpoint.Hit("pull.files.created")
		if err == nil {
			piece.ID = id
			return f.save(ctx)
		}
		if piece.Unsure = unknown(err); !piece.Unsure {
			piece.forget()
		}
		return errors.Join(err, f.save(ctx))
	})
	if errors.Is(err, media.ErrJobExists) {
		return &media.DeferError{After: takenWait, Reason: "the platform has a job of this name and does not show it yet"}
	}
	if err != nil {
		return err
	}
	f.count("created")
	failpoint.Hit("pull.files.stored")
	return f.making(f.pull.Pieces[i])
}

// making makes the subtask wait for a file, at no attempt and without a slot. A file may be there within seconds: the
// time between two looks is as long as the job is old, within limits.
func (f *filing) making(piece filePiece) error {
	age := f.Clock.Now().Sub(piece.CreatedAt)
	return &media.DeferError{After: min(max(age, firstLook), f.report.Files.Interval),
		Reason: fmt.Sprintf("%s makes the file of job %s", f.platform.Name(), piece.ID)}
}

// unknown reports whether a call that failed may have had an effect.
func unknown(err error) bool {
	if errors.Is(err, media.ErrJobExists) {
		return true
	}
	if _, waits := errors.AsType[*media.DeferError](err); waits {
		return false // It was not sent, or refused for a limit.
	}
	e, ok := errors.AsType[*media.Error](err)
	return !ok || e.Code == "" || strings.HasPrefix(e.Code, "http ")
}

// again makes a piece need a new job and returns an error that costs an attempt.
func (f *filing) again(ctx context.Context, i int, event, why string) error {
	f.count(event)
	f.pull.Pieces[i].forget()
	return errors.Join(&media.Error{Class: media.Transient, Message: why}, f.save(ctx))
}

// failed makes a piece need a new job, or splits it when its jobs have failed repeatedly.
func (f *filing) failed(ctx context.Context, i int, job media.Job) error {
	piece := &f.pull.Pieces[i]
	why := fmt.Sprintf("the platform could not make the file of job %s: %s", job.ID, job.Reason)
	if piece.Failures++; piece.Failures < failuresMax {
		return f.again(ctx, i, "failed", why)
	}
	f.count("failed")
	parts, err := f.split(ctx, *piece)
	if err != nil {
		return err
	}
	if len(parts) == 0 || len(parts)+len(f.pull.Pieces) > piecesMax {
		return &media.Error{Class: media.Invalid, Message: why + "; the file cannot be split any further"}
	}
	f.count("split")
	f.pull.Pieces = slices.Replace(f.pull.Pieces, i, i+1, parts...)
	return errors.Join(&media.Error{Class: media.Transient, Message: why + "; it is made in parts"}, f.save(ctx))
}

func (f *filing) count(event string) {
	f.metrics.jobs.WithLabelValues(f.account.Media, f.report.Name, event).Inc()
}

// split returns the parts of a piece: its days, the halves of its objects, or the objects of the next Split within its
// only object. There are none if it cannot be split.
func (f *filing) split(ctx context.Context, piece filePiece) (parts []filePiece, err error) {
	if piece.From != piece.To {
		for _, d := range day.Between(piece.From, piece.To) {
			parts = append(parts, filePiece{Variant: piece.Variant, From: d, To: d, Within: piece.Within, Level: piece.Level})
		}
		return parts, nil
	}
	if n := len(piece.Within); n > 1 {
		return []filePiece{
			{Variant: piece.Variant, From: piece.From, To: piece.To, Within: piece.Within[:n/2], Level: piece.Level},
			{Variant: piece.Variant, From: piece.From, To: piece.To, Within: piece.Within[n/2:], Level: piece.Level},
		}, nil
	}
	if piece.Level == len(f.report.Files.Splits) {
		return nil, nil
	}
	split := f.report.Files.Splits[piece.Level]
	objects, err := fetch(ctx, terms{rowsMax: rowsHeld}, func(ctx context.Context, token string) (media.Page, error) {
		return split.Page(ctx, f.api, piece.query(&f.pull), token)
	})
	if err != nil {
		return nil, err
	}
	if objects.note != "" || len(objects.lost) > 0 {
		return nil, notWhole("the list of objects to narrow the file by is not whole: " + objects.note)
	}
	// At least two parts, unless there is only one object.
	most := max(min(split.Most, (len(objects.rows)+1)/2), 1)
	for some := range slices.Chunk(objects.rows, most) {
		part := filePiece{Variant: piece.Variant, From: piece.From, To: piece.To, Level: piece.Level + 1}
		for _, row := range some {
			part.Within = append(part.Within, row.Object)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// read reads the file of a piece.
func (f *filing) read(ctx context.Context, i int, job media.Job) (fetched, error) {
	piece := &f.pull.Pieces[i]
	file, err := f.report.Files.Open(ctx, f.api, job)
	if errors.Is(err, media.ErrJobGone) {
		return fetched{}, f.again(ctx, i, "expired", "the file of its job "+piece.ID+" is gone")
	}
	if err != nil {
		return fetched{}, err
	}
	defer file.Close()
	failpoint.Hit("pull.files.opened")
	page, err := readFile(file, f.report.Files, piece.query(&f.pull), f.account.ExternalID, job)
	if wrong, ok := errors.AsType[*badFileError](err); ok {
		return fetched{}, f.again(ctx, i, "unusable", wrong.Error())
	}
	if over, ok := errors.AsType[*overCapError](err); ok {
		return fetched{}, refused(f.report, piece.query(&f.pull), over.Error())
	}
	if err != nil {
		return fetched{}, err
	}
	for _, row := range page.Rows {
		if !row.Lost && (row.Day < piece.From || row.Day > piece.To) {
			return fetched{}, f.again(ctx, i, "unusable", badFile("it has a row of %s", row.Day).Error())
		}
	}
	f.count("read")
	of := termsOf(f.api, f.report, piece.query(&f.pull))
	of.rowsMax = rowsHeld
	return fetch(ctx, of, func(context.Context, string) (media.Page, error) { return page, nil })
}
