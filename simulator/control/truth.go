package control

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// truthQuery selects a part of the truth.
type truthQuery struct {
	p        *world.Spec
	kind     string
	scope    world.Scope
	account  *world.Account // nil is all
	currency string         // "" is all
	at       int64          // the world's second of the requested truth; 0 is now
	// byProject requests the sums over the ads of each project.
	byProject bool
}

// The kinds of the truth for the accounts' money.
const (
	kindBalance   = "balance"
	kindFundDaily = "fund_daily"
)

// truthSpanMax bounds the days of a query, which occupies a handler until it ends.
const truthSpanMax = 400

func (c *control) parseTruth(q url.Values) (t truthQuery, err error) {
	if err := givenOnce(q); err != nil {
		return t, err
	}
	if t.p = c.sim.World.Spec(q.Get("media")); t.p == nil {
		return t, fmt.Errorf("media must be one of %v, not %q", c.sim.World.Names(), q.Get("media"))
	}
	t.kind = q.Get("kind")
	switch t.kind {
	case "report_daily", "report_hourly":
		t.scope.Hourly = t.kind == "report_hourly"
		switch q.Get("level") {
		case "account":
		case "ad":
			t.scope.Level = world.LevelAd
		case "creative":
			t.scope.Level = world.LevelCreative
		case "project":
			if t.scope.Level, t.byProject = world.LevelAd, true; !t.p.HasProjects {
				return t, fmt.Errorf("%s has no projects", t.p.Name)
			}
		default:
			return t, fmt.Errorf("level must be account, project, ad or creative, not %q", q.Get("level"))
		}
		if err := t.parseDays(q); err != nil {
			return t, err
		}
	case kindFundDaily:
		if err := t.parseDays(q); err != nil {
			return t, err
		}
	case t.p.ObjectKind, "account", kindBalance, "creative", "image", "video":
	case "project":
		if !t.p.HasProjects {
			return t, fmt.Errorf("%s has no projects", t.p.Name)
		}
	default:
		return t,
			fmt.Errorf(
				"kind must be report_daily, report_hourly, account, project, %s, creative, image, video, balance or fund_daily "+
					"for "+
					"%s, not %q", t.p.ObjectKind, t.p.Name, t.kind)
	}
	t.currency = q.Get("currency")
	if t.at, err = parseAt(q.Get("at")); err != nil {
		return t, fmt.Errorf("at: %w", err)
	}
	if id := q.Get("account"); id != "" {
		a, ok := c.sim.World.LookupText(t.p, id)
		if !ok {
			return t, fmt.Errorf("%s has no account %q", t.p.Name, id)
		}
		t.account = &a
	}
	return t, nil
}

func (t *truthQuery) parseDays(q url.Values) (err error) {
	if t.scope.From, err = world.ParseDay(q.Get("from")); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if t.scope.To, err = world.ParseDay(q.Get("to")); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if t.scope.To < t.scope.From || t.scope.To-t.scope.From >= truthSpanMax {
		return fmt.Errorf("from and to must span 1 to %d days", truthSpanMax)
	}
	return nil
}

// parseAt returns a moment of the world in Unix seconds; 0 for "".
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
	return at.Unix(), world.CheckMoment(at)
}

// serveTruth streams rows as lines of JSON, account by account, and ends with a line that has their number: an answer
// without that line was cut off.
func (c *control) serveTruth(w http.ResponseWriter, r *http.Request) {
	t, err := c.parseTruth(r.URL.Query())
	if err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 64<<10)
	// One moment for the whole answer, which takes a while.
	v := world.View{Now: cmp.Or(t.at, c.sim.Clock.Now().Unix()), Corrections: c.sim.World.Corrections,
		Scratch: new([]world.Row)}
	first, last := 0, c.sim.World.Count(t.p)
	if t.account != nil {
		first, last = t.account.Index, t.account.Index+1
	}
	count := 0
	var line []byte
	for i := first; i < last; i++ {
		a := c.sim.World.Account(t.p, i)
		if t.currency != "" && t.currency != a.Calendar.CurrencyCode() {
			continue
		}
		n, err := t.writeAccount(out, &line, &v, &a)
		if count += n; err != nil || r.Context().Err() != nil {
			return
		}
	}
	fmt.Fprintf(out, "{\"count\":%d}\n", count)
	_ = out.Flush() // an error means that the caller has gone
}

func (t *truthQuery) writeAccount(out *bufio.Writer, line *[]byte, v *world.View, a *world.Account) (n int, err error) {
	write := func(b []byte) {
		b = append(b, '\n')
		*line = b // the next line reuses its memory
		if err == nil {
			_, err = out.Write(b)
		}
		n++
	}
	switch t.kind {
	case "account":
		write(t.accountLine((*line)[:0], a))
	case t.p.ObjectKind:
		for _, o := range v.Objects(a) {
			write(objectLine((*line)[:0], a, &o))
		}
	case kindBalance:
		n := v.FundNow(a)
		for _, b := range fundNowLines(a, &n) {
			write(b)
		}
	case kindFundDaily:
		for _, d := range v.FundDays(a, t.scope.From, t.scope.To) {
			for _, b := range fundDayLines(a, &d) {
				write(b)
			}
		}
	case "project":
		for _, x := range a.Projects(v.Now) {
			write(jsonLine((*line)[:0], truthObject{
				Account: strconv.FormatInt(a.ID, 10), Object: strconv.FormatInt(x.ID, 10), Name: x.Name, Status: x.Status.String(),
				Budget: x.Budget * a.Calendar.Smallest(), Created: x.Created, Modified: x.Modified,
				Deleted: x.Status == world.StatusDeleted,
			}))
		}
	case "creative":
		for _, c := range a.Creatives(v.Now) {
			write(jsonLine((*line)[:0], truthCreativeOf(a, &c)))
		}
	case world.AssetImage.String():
		for _, x := range a.Assets(world.AssetImage, v.Now) {
			write(jsonLine((*line)[:0], truthAssetOf(a, &x)))
		}
	case world.AssetVideo.String():
		for _, x := range a.Assets(world.AssetVideo, v.Now) {
			write(jsonLine((*line)[:0], truthAssetOf(a, &x)))
		}
	default:
		rows := v.Rows(a, t.scope)
		if t.byProject {
			rows = platform.Grouping{Day: true, Hour: t.scope.Hourly, Project: true}.Apply(rows, t.scope.Level)
			for i := range rows {
				rows[i].Object = rows[i].Ad.Project
			}
		}
		silence := a.Silence()
		for i := range rows {
			write(t.rowLine((*line)[:0], a, &rows[i], &silence))
		}
	}
	return n, err
}

// rowLine appends a row's line, without the figures that the platform omits.
func (t *truthQuery) rowLine(b []byte, a *world.Account, r *world.Row, silence *world.Silence) []byte {
	b = append(b, `{"account":"`...)
	b = strconv.AppendInt(b, a.ID, 10)
	b = append(b, `","day":"`...)
	b = world.AppendDay(b, r.Day)
	b = append(b, '"')
	if r.Hour != world.NoHour {
		b = append(b, `,"hour":`...)
		b = strconv.AppendInt(b, int64(r.Hour), 10)
	}
	b = append(b, `,"object":"`...)
	switch {
	case r.Creative != nil:
		b = append(b, t.p.CreativeObject(r.Creative)...)
	case r.Object != 0:
		b = strconv.AppendInt(b, r.Object, 10)
	}
	b = append(b, `","metrics":{`...)
	first := true
	for _, m := range t.p.Metrics {
		if silence.Hides(m, &r.Figures) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '"')
		b = append(b, m.String()...)
		b = append(b, `":`...)
		n := r.Figures[m]
		if m.IsMoney() {
			n *= a.Calendar.Smallest()
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, "}}"...)
}

func (t *truthQuery) accountLine(b []byte, a *world.Account) []byte {
	b = append(b, `{"account":"`...)
	b = strconv.AppendInt(b, a.ID, 10)
	b = append(b, `","name":`...)
	b = platform.AppendJSONString(b, t.p.AccountName(a))
	b = append(b, `,"company":`...)
	b = platform.AppendJSONString(b, a.Company())
	b = append(append(b, `,"currency":"`...), a.Calendar.CurrencyCode()...)
	b = append(append(b, `","timezone":"`...), a.Calendar.ZoneName()...)
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
	Unlisted bool   `json:"unlisted,omitempty"` // deleted, and in no list of the platform any more
}

func objectLine(b []byte, a *world.Account, o *world.Object) []byte {
	return jsonLine(b, truthObject{
		Account: strconv.FormatInt(a.ID, 10), Object: strconv.FormatInt(o.ID, 10), Name: o.Name,
		Parent: world.ObjectText(o.Project),
		Status: o.Status.String(), Budget: o.Budget * a.Calendar.Smallest(), Bid: o.Bid * a.Calendar.Smallest(),
		Created: o.Created, Modified: o.Modified, Deleted: o.Status == world.StatusDeleted,
		Unlisted: o.Status == world.StatusDeleted && a.Platform.HidesDeleted,
	})
}

// TruthCreative is a line of the creatives. Unlisted ones were deleted and are no longer in any list of the platform.
type TruthCreative struct {
	Account  string     `json:"account"`
	Object   string     `json:"object"`
	Name     string     `json:"name"`
	Parent   string     `json:"parent"`
	Status   string     `json:"status"`
	Created  int64      `json:"created"`
	Modified int64      `json:"modified"`
	Deleted  bool       `json:"deleted"`
	Unlisted bool       `json:"unlisted"`
	Kind     string     `json:"kind"` // video, image or text
	Assets   []truthUse `json:"assets"`
}

// truthUse is an asset that a creative shows.
type truthUse struct {
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	Signature string `json:"signature"`
}

func truthCreativeOf(a *world.Account, c *world.ListedCreative) TruthCreative {
	x := TruthCreative{
		Account: strconv.FormatInt(a.ID, 10), Object: a.Platform.CreativeObject(&c.Creative), Name: c.Name,
		Parent: world.ObjectText(c.Ad.ID),
		Status: c.Status.String(), Created: c.Created, Modified: c.Modified, Deleted: c.Status == world.StatusDeleted,
		Kind: world.AssetImage.String(),
	}
	if c.IsVideo() {
		x.Kind = world.AssetVideo.String()
	}
	switch {
	case a.Platform.HidesDeleted:
		x.Unlisted = x.Deleted
	case a.Platform.CreativesAreParts:
		x.Unlisted = c.IsUnlisted()
	}
	if a.Platform.TextOnly != nil && a.Platform.TextOnly(a) {
		x.Kind = "text"
		return x
	}
	if c.Ad.Packed { // Its package does not say which files it shows, and no longer has it when it was removed.
		x.Unlisted = c.IsUnlisted()
		return x
	}
	for _, use := range c.Assets(a) {
		x.Assets = append(x.Assets, truthUse{Kind: use.Kind.String(), ID: use.ID, Signature: use.Signature})
	}
	return x
}

// TruthAsset is a line of the images or videos.
type TruthAsset struct {
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

func truthAssetOf(a *world.Account, x *world.Asset) TruthAsset {
	return TruthAsset{
		Account: strconv.FormatInt(a.ID, 10), Object: x.ID, Name: x.Name, Width: x.Width, Height: x.Height, Size: x.Size,
		Signature: x.Signature, Material: world.ObjectText(x.Material), Created: x.Created, Modified: x.Modified,
	}
}

func jsonLine(b []byte, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil { // strings and numbers can always be encoded
		return b
	}
	return append(b, raw...)
}

// fundNowLines returns the truth's lines for an account's current money, one per kind.
func fundNowLines(a *world.Account, n *world.FundNow) [][]byte {
	var lines [][]byte
	valid := n.Balance.Minus(world.Funds{Cash: n.Locked})
	for _, kind := range a.TruthKinds() {
		b := fundLine(nil, a, kind.Name)
		b = fundField(b, a, "balance", kind.Of(n.Balance))
		b = fundField(b, a, "valid_balance", kind.Of(valid))
		b = fundField(b, a, "paid_today", kind.Of(n.PaidToday))
		lines = append(lines, append(b, '}'))
	}
	return lines
}

// fundDayLines returns the truth's lines for a day's cash flow, one per kind.
func fundDayLines(a *world.Account, d *world.FundDay) [][]byte {
	var lines [][]byte
	for _, kind := range a.TruthKinds() {
		b := fundLine(nil, a, kind.Name)
		b = append(b, `,"day":"`...)
		b = append(world.AppendDay(b, d.Day), '"')
		for _, f := range []struct {
			name  string
			value world.Funds
		}{{"deposit", d.Deposit}, {"paid", d.Paid}, {"transfer_in", d.TransferIn}, {"transfer_out", d.TransferOut},
			{"balance", d.Balance}} {
			b = fundField(b, a, f.name, kind.Of(f.value))
		}
		lines = append(lines, append(b, '}'))
	}
	return lines
}

func fundLine(b []byte, a *world.Account, kind string) []byte {
	b = append(b, `{"account":"`...)
	b = strconv.AppendInt(b, a.ID, 10)
	b = append(b, `","fund":"`...)
	return append(append(b, kind...), '"')
}

func fundField(b []byte, a *world.Account, name string, n int64) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, n*a.Calendar.Smallest(), 10)
}
