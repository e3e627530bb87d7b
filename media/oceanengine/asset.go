package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const (
	imagesEndpoint = "2/file/image/get/"
	videosEndpoint = "2/file/video/get/"
)

// filesPage is what is commonly taken as the most that a page of files holds: the platform tells only that 20 are
// usual.
const filesPage = 100

var imageTable = rawtable.Table{Name: "oceanengine_image", Shape: rawtable.Objects, Columns: fileColumns()}

var videoTable = rawtable.Table{Name: "oceanengine_video", Shape: rawtable.Objects, Columns: append(fileColumns(),
	rawtable.Column{Name: "duration_ms", Kind: rawtable.Int})} // seconds on the wire

func fileColumns() []rawtable.Column {
	return []rawtable.Column{
		{Name: "material_id", Kind: rawtable.Text}, // a text, as ids are in the other tables
		{Name: "filename", Kind: rawtable.Text},
		{Name: "width", Kind: rawtable.Int},
		{Name: "height", Kind: rawtable.Int},
		{Name: "size", Kind: rawtable.Int}, // bytes
		{Name: "signature", Kind: rawtable.Text},
		{Name: "create_time", Kind: rawtable.Instant},
	}
}

// fileList is a kind of an account's library. Files have no time of modification, and can be asked for by their days of
// upload: a list of changes is one of uploads.
type fileList struct {
	endpoint string
	isVideo  bool
}

var (
	images = fileList{endpoint: imagesEndpoint}
	videos = fileList{endpoint: videosEndpoint, isVideo: true}
)

func (l fileList) kind() string {
	if l.isVideo {
		return rawtable.AssetVideo
	}
	return rawtable.AssetImage
}

// materialsOf returns the ids that reports know files by, as far as the library has them: a file is one material
// (documents 1696710601820172 and 1696710601254912).
func (l fileList) materialsOf(ctx context.Context, api media.API, files []string) (map[string]wire.ID, error) {
	slices.Sort(files)
	known := map[string]wire.ID{}
	for some := range slices.Chunk(slices.Compact(files), filesPage) {
		data, err := api.Get(ctx, l.endpoint, url.Values{
			"advertiser_id": {api.Account().ExternalID},
			"filtering":     {asJSON(map[string][]string{l.kind() + "_ids": some})},
			"page":          {"1"},
			"page_size":     {strconv.Itoa(filesPage)},
		})
		if err != nil {
			return nil, err
		}
		var answer struct {
			List wire.List `json:"list"`
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return nil, media.Broken(l.endpoint, err)
		}
		for _, raw := range answer.List {
			file := wire.Open(raw)
			known[string(file.TextID("id"))] = file.ID("material_id")
		}
	}
	return known, nil
}

// filesReach is how many files of a query there may be pages for. The documents do not say it of files; of other
// lists they say 10,000.
const filesReach = 10_000

// page fetches a page by its number. Beyond filesReach it goes by stretches of days of upload, carrying the total
// along: "days:<total>:<first day>:<days>:<page>".
func (l fileList) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	if rest, ok := strings.CutPrefix(page, "days:"); ok {
		s, err := readStretch(rest)
		if err != nil {
			return media.Page{}, noSuchPage(page)
		}
		return l.byDays(ctx, api, q, s)
	}
	filter := map[string]string{}
	if !q.Since.IsZero() {
		filter["start_time"], filter["end_time"] = day.Of(q.Since, china).String(), day.Of(q.Until, china).String()
	}
	out, err := l.numbered(ctx, api, filter, page)
	if err != nil || out.Total <= filesReach || page != "" {
		return out, err
	}
	from := firstUpload
	if !q.Since.IsZero() {
		from = day.Of(q.Since, china)
	}
	return l.byDays(ctx, api, q, stretch{total: out.Total, from: from, days: stretchDays})
}

func (l fileList) numbered(ctx context.Context, api media.API, filter map[string]string, page string) (media.Page,
	error) {
	return media.Numbered{Endpoint: l.endpoint, Size: filesPage}.Page(ctx, api, page, url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"filtering":     {asJSON(filter)},
	}, media.EachRow(l.read))
}

// firstUpload is a day before which the platform had no files.
const firstUpload day.Day = "2013-01-01"

// The ends of all days. The first and the last stretch of a library reach to them, for what the platform dates oddly:
// the document has start_time and end_time used together only.
const (
	dayMin = "1970-01-01"
	dayMax = "9999-12-31"
)

// stretchDays is how many days a stretch has at most: in most accounts fewer than filesReach files are uploaded in
// them.
const stretchDays = 512

// stretch is where the reading of files by their days of upload stands.
type stretch struct {
	total int // of all files
	from  day.Day
	days  int
	page  string
}

func readStretch(text string) (s stretch, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return s, errors.New("a stretch has four parts")
	}
	var errs [3]error
	s.total, errs[0] = strconv.Atoi(parts[0])
	s.from, errs[1] = day.Parse(parts[1])
	s.days, errs[2] = strconv.Atoi(parts[2])
	s.page = parts[3]
	if err := errors.Join(errs[:]...); err != nil || s.days < 1 {
		return s, errors.Join(err, errors.New("a stretch has a total, a day, some days and a page"))
	}
	return s, nil
}

func (s stretch) String() string {
	return fmt.Sprintf("days:%d:%s:%d:%s", s.total, s.from, s.days, s.page)
}

// byDays fetches a page of a stretch, which gets shorter until there are pages for all of it; days without files are
// passed over.
func (l fileList) byDays(ctx context.Context, api media.API, q media.ListQuery, s stretch) (media.Page, error) {
	until := day.Of(q.Until, china)
	for {
		to := min(s.from.Add(s.days-1), until)
		filter := map[string]string{"start_time": s.from.String(), "end_time": to.String()}
		if q.Since.IsZero() && s.from == firstUpload {
			filter["start_time"] = dayMin
		}
		if q.Since.IsZero() && to == until {
			filter["end_time"] = dayMax
		}
		out, err := l.numbered(ctx, api, filter, s.page)
		switch {
		case err != nil:
			return out, err
		case s.page == "" && out.Total > filesReach && s.days > 1:
			s.days /= 2
			continue
		case out.Next != "":
			s.page = out.Next
			out.Next = s.String()
		default:
			s.from, s.days, s.page = to.Add(1), min(2*s.days, stretchDays), ""
			if out.Next = s.String(); s.from > until {
				out.Next = ""
			} else if len(out.Rows) == 0 && out.Moved == "" {
				continue
			}
		}
		out.Total = s.total
		return out, nil
	}
}

func (l fileList) read(f *wire.Row) media.Row {
	name, created := f.Text("filename"), f.Time("create_time", readTime)
	row := media.Row{Object: f.TextKey("id"), Name: wire.Cut(name), Modified: created, Raw: []any{
		wire.Text(string(f.ID("material_id"))), wire.Text(name), f.Int("width").Column(), f.Int("height").Column(),
		f.Int("size").Column(),
		wire.Text(f.Exact("signature")), sqldb.At(created),
	}}
	if l.isVideo {
		row.Raw = append(row.Raw, f.Scaled("duration", 3))
	}
	return row
}
