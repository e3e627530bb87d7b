package simulator

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// truthQuery says which part of the truth is asked for.
type truthQuery struct {
	p        *spec
	kind     string
	scope    scope
	account  *account // nil is all
	currency string   // "" is all
	at       int64    // the world's second as of which it is asked for; 0 is now
	// byProject adds up the ads of a project.
	byProject bool
}

// The truth's kinds about the accounts' money.
const (
	kindBalance   = "balance"
	kindFundDaily = "fund_daily"
)

// truthSpanMax bounds a question, which holds a handler for as long as it takes.
const truthSpanMax = 400

func (c *control) parseTruth(q url.Values) (t truthQuery, err error) {
	if err := givenOnce(q); err != nil {
		return t, err
	}
	if t.p = c.sim.world.spec(q.Get("media")); t.p == nil {
		return t, fmt.Errorf("media is one of %v, not %q", c.sim.world.names(), q.Get("media"))
	}
	t.kind = q.Get("kind")
	switch t.kind {
	case "report_daily", "report_hourly":
		t.scope.hourly = t.kind == "report_hourly"
		switch q.Get("level") {
		case "account":
		case "ad":
			t.scope.level = levelAd
		case "creative":
			t.scope.level = levelCreative
		case "project":
			if t.scope.level, t.byProject = levelAd, true; !t.p.hasProjects {
				return t, fmt.Errorf("%s has no projects", t.p.name)
			}
		default:
			return t, fmt.Errorf("level is account, project, ad or creative, not %q", q.Get("level"))
		}
		if err := t.parseDays(q); err != nil {
			return t, err
		}
	case kindFundDaily:
		if err := t.parseDays(q); err != nil {
			return t, err
		}
	case t.p.objectKind, "account", kindBalance, "creative", "image", "video":
	case "project":
		if !t.p.hasProjects {
			return t, fmt.Errorf("%s has no projects", t.p.name)
		}
	default:
		return t, fmt.Errorf("kind is report_daily, report_hourly, account, project, %s, creative, image, video, balance or fund_daily for %s, not %q", t.p.objectKind, t.p.name, t.kind)
	}
	t.currency = q.Get("currency")
	if t.at, err = parseAt(q.Get("at")); err != nil {
		return t, fmt.Errorf("at: %w", err)
	}
	if id := q.Get("account"); id != "" {
		a, ok := c.sim.world.lookupText(t.p, id)
		if !ok {
			return t, fmt.Errorf("%s has no account %q", t.p.name, id)
		}
		t.account = &a
	}
	return t, nil
}

func (t *truthQuery) parseDays(q url.Values) (err error) {
	if t.scope.from, err = parseDay(q.Get("from")); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if t.scope.to, err = parseDay(q.Get("to")); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if t.scope.to < t.scope.from || t.scope.to-t.scope.from >= truthSpanMax {
		return fmt.Errorf("from to to is 1 to %d days", truthSpanMax)
	}
	return nil
}

// parseAt reads a moment of the world, in seconds; "" is 0.
func parseAt(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if ms, isText := strconv.ParseInt(text, 10, 64); isText == nil {
		at, err = time.UnixMilli(ms), nil
	}
	if err != nil {
		return 0, fmt.Errorf("%q is neither a time like 2026-11-15T08:00:00Z nor Unix milliseconds", text)
	}
	return at.Unix(), checkMoment(at)
}

// serveTruth streams rows as lines of JSON, account by account, and ends with a line that counts them: an answer
// without it was cut off.
func (c *control) serveTruth(w http.ResponseWriter, r *http.Request) {
	t, err := c.parseTruth(r.URL.Query())
	if err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 64<<10)
	// One moment for the whole answer, although it takes a while.
	v := view{now: cmp.Or(t.at, c.sim.clock.Now().Unix()), corrections: c.sim.world.corrections, scratch: new([]row)}
	first, last := 0, c.sim.world.count(t.p)
	if t.account != nil {
		first, last = t.account.index, t.account.index+1
	}
	count := 0
	var line []byte
	for i := first; i < last; i++ {
		a := c.sim.world.account(t.p, i)
		if t.currency != "" && t.currency != a.calendar.currencyCode() {
			continue
		}
		n, err := t.writeAccount(out, &line, &v, &a)
		if count += n; err != nil || r.Context().Err() != nil {
			return
		}
	}
	fmt.Fprintf(out, "{\"count\":%d}\n", count)
	_ = out.Flush() // a caller that went away is no concern of ours
}

func (t *truthQuery) writeAccount(out *bufio.Writer, line *[]byte, v *view, a *account) (n int, err error) {
	write := func(b []byte) {
		b = append(b, '\n')
		*line = b // its memory serves the next one
		if err == nil {
			_, err = out.Write(b)
		}
		n++
	}
	switch t.kind {
	case "account":
		write(t.accountLine((*line)[:0], a))
	case t.p.objectKind:
		for _, o := range v.objects(a) {
			write(objectLine((*line)[:0], a, &o))
		}
	case kindBalance:
		n := v.fundNow(a)
		for _, b := range fundNowLines(a, &n) {
			write(b)
		}
	case kindFundDaily:
		for _, d := range v.fundDays(a, t.scope.from, t.scope.to) {
			for _, b := range fundDayLines(a, &d) {
				write(b)
			}
		}
	case "project":
		for _, x := range a.projects(v.now) {
			write(jsonLine((*line)[:0], truthObject{
				Account: strconv.FormatInt(a.id, 10), Object: strconv.FormatInt(x.id, 10), Name: x.name, Status: x.status.String(),
				Budget: x.budget * microsPerFen, Created: x.created, Modified: x.modified, Deleted: x.status == statusDeleted,
			}))
		}
	case "creative":
		for _, c := range a.creatives(v.now) {
			write(jsonLine((*line)[:0], truthCreativeOf(a, &c)))
		}
	case assetImage.String():
		for _, x := range a.assets(assetImage, v.now) {
			write(jsonLine((*line)[:0], truthAssetOf(a, &x)))
		}
	case assetVideo.String():
		for _, x := range a.assets(assetVideo, v.now) {
			write(jsonLine((*line)[:0], truthAssetOf(a, &x)))
		}
	default:
		rows := v.rows(a, t.scope)
		if t.byProject {
			rows = grouping{day: true, hour: t.scope.hourly, project: true}.apply(rows, t.scope.level)
			for i := range rows {
				rows[i].object = rows[i].ad.project
			}
		}
		untold := a.silence()
		for i := range rows {
			write(t.rowLine((*line)[:0], a, &rows[i], &untold))
		}
	}
	return n, err
}

// rowLine leaves out what the platform never tells of the row.
func (t *truthQuery) rowLine(b []byte, a *account, r *row, untold *silence) []byte {
	b = append(b, `{"account":"`...)
	b = strconv.AppendInt(b, a.id, 10)
	b = append(b, `","day":"`...)
	b = appendDay(b, r.day)
	b = append(b, '"')
	if r.hour != noHour {
		b = append(b, `,"hour":`...)
		b = strconv.AppendInt(b, int64(r.hour), 10)
	}
	b = append(b, `,"object":"`...)
	switch {
	case r.creative != nil:
		b = append(b, t.p.creativeObject(r.creative)...)
	case r.object != 0:
		b = strconv.AppendInt(b, r.object, 10)
	}
	b = append(b, `","metrics":{`...)
	first := true
	for _, m := range t.p.metrics {
		if untold.hides(m, &r.figures) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '"')
		b = append(b, m.String()...)
		b = append(b, `":`...)
		n := r.figures[m]
		if m.isMoney() {
			n *= microsPerFen
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, "}}"...)
}

func (t *truthQuery) accountLine(b []byte, a *account) []byte {
	b = append(b, `{"account":"`...)
	b = strconv.AppendInt(b, a.id, 10)
	b = append(b, `","name":`...)
	b = appendJSONString(b, t.p.accountName(a))
	b = append(b, `,"company":`...)
	b = appendJSONString(b, a.company())
	b = append(append(b, `,"currency":"`...), a.calendar.currencyCode()...)
	b = append(append(b, `","timezone":"`...), a.calendar.zoneName()...)
	return append(b, `"}`...)
}

// truthObject is a line of the configuration; money is in micro-units, times in Unix seconds.
type truthObject struct {
	Account  string `json:"account"`
	Object   string `json:"object"`
	Name     string `json:"name"`
	Parent   string `json:"parent"`
	Status   string `json:"status"`
	Budget   int64  `json:"daily_budget"`
	Bid      int64  `json:"bid"`
	Created  int64  `json:"created"`
	Modified int64  `json:"modified"`
	Deleted  bool   `json:"deleted"`
}

func objectLine(b []byte, a *account, o *object) []byte {
	return jsonLine(b, truthObject{
		Account: strconv.FormatInt(a.id, 10), Object: strconv.FormatInt(o.id, 10), Name: o.name, Parent: objectText(o.project),
		Status: o.status.String(), Budget: o.budget * microsPerFen, Bid: o.bid * microsPerFen,
		Created: o.created, Modified: o.modified, Deleted: o.status == statusDeleted,
	})
}

// truthCreative is a line of the creatives. Unlisted ones were deleted and are shown by no list of the platform any more.
type truthCreative struct {
	Account  string     `json:"account"`
	Object   string     `json:"object"`
	Name     string     `json:"name"`
	Parent   string     `json:"parent"`
	Status   string     `json:"status"`
	Created  int64      `json:"created"`
	Modified int64      `json:"modified"`
	Deleted  bool       `json:"deleted"`
	Unlisted bool       `json:"unlisted"`
	Kind     string     `json:"kind"` // video or image
	Assets   []truthUse `json:"assets"`
}

// truthUse is an asset that a creative shows.
type truthUse struct {
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	Signature string `json:"signature"`
}

func truthCreativeOf(a *account, c *listedCreative) truthCreative {
	x := truthCreative{
		Account: strconv.FormatInt(a.id, 10), Object: a.p.creativeObject(&c.creative), Name: c.name, Parent: objectText(c.ad.id),
		Status: c.status.String(), Created: c.created, Modified: c.modified, Deleted: c.status == statusDeleted,
		Kind: assetImage.String(),
	}
	if c.isVideo() {
		x.Kind = assetVideo.String()
	}
	if a.p.creativesAreParts {
		x.Unlisted = c.isUnlisted()
	}
	for _, use := range c.assets(a) {
		x.Assets = append(x.Assets, truthUse{Kind: use.kind.String(), ID: use.id, Signature: use.signature})
	}
	return x
}

// truthAsset is a line of the images or videos.
type truthAsset struct {
	Account   string `json:"account"`
	Object    string `json:"object"`
	Name      string `json:"name"`
	Width     int64  `json:"width"`
	Height    int64  `json:"height"`
	Size      int64  `json:"size"`
	Signature string `json:"signature"`
	Material  string `json:"material,omitempty"`
	Created   int64  `json:"created"`
	Modified  int64  `json:"modified"`
}

func truthAssetOf(a *account, x *asset) truthAsset {
	return truthAsset{
		Account: strconv.FormatInt(a.id, 10), Object: x.id, Name: x.name, Width: x.width, Height: x.height, Size: x.size,
		Signature: x.signature, Material: objectText(x.material), Created: x.created, Modified: x.modified,
	}
}

func jsonLine(b []byte, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil { // strings and numbers always marshal
		return b
	}
	return append(b, raw...)
}

// fundNowLines are the truth's lines about what an account has now, a line of each kind.
func fundNowLines(a *account, n *fundNow) [][]byte {
	var lines [][]byte
	valid := n.balance.minus(funds{cash: n.locked})
	for _, kind := range a.truthKinds() {
		b := fundLine(nil, a, kind.name)
		b = fundField(b, "balance", kind.of(n.balance))
		b = fundField(b, "valid_balance", kind.of(valid))
		b = fundField(b, "paid_today", kind.of(n.paidToday))
		lines = append(lines, append(b, '}'))
	}
	return lines
}

// fundDayLines are the truth's lines about a day's cash flow, a line of each kind.
func fundDayLines(a *account, d *fundDay) [][]byte {
	var lines [][]byte
	for _, kind := range a.truthKinds() {
		b := fundLine(nil, a, kind.name)
		b = append(b, `,"day":"`...)
		b = append(appendDay(b, d.day), '"')
		for _, f := range []struct {
			name  string
			value funds
		}{{"deposit", d.deposit}, {"paid", d.paid}, {"transfer_in", d.transferIn}, {"transfer_out", d.transferOut}, {"balance", d.balance}} {
			b = fundField(b, f.name, kind.of(f.value))
		}
		lines = append(lines, append(b, '}'))
	}
	return lines
}

func fundLine(b []byte, a *account, kind string) []byte {
	b = append(b, `{"account":"`...)
	b = strconv.AppendInt(b, a.id, 10)
	b = append(b, `","fund":"`...)
	return append(append(b, kind...), '"')
}

func fundField(b []byte, name string, fen int64) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, fen*microsPerFen, 10)
}
