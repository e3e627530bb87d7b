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

// filesPage is how many files a page is commonly assumed to hold at most: the platform documents only a usual size of
// 20.
const filesPage = 100

var imageTable = rawtable.Table{Name: "oceanengine_image", Shape: rawtable.Objects, Columns: fileColumns()}

var videoTable = rawtable.Table{Name: "oceanengine_video", Shape: rawtable.Objects, Columns: append(fileColumns(),
	rawtable.Column{Name: "duration_ms", Kind: rawtable.Int})} // seconds on the wire

func fileColumns() []rawtable.Column {
	return []rawtable.Column{
		{Name: "material_id", Kind: rawtable.Text}, // a text, like ids in the other tables
		{Name: "filename", Kind: rawtable.Text},
		{Name: "width", Kind: rawtable.Int},
		{Name: "height", Kind: rawtable.Int},
		{Name: "size", Kind: rawtable.Int}, // bytes
		{Name: "signature", Kind: rawtable.Text},
		{Name: "create_time", Kind: rawtable.Instant},
	}
}

// fileList is one kind of file in an account's library. Files have no time of modification, but can be selected by
// the day of upload: a list of changes is a list of uploads.
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

// materialsOf returns the material ids of files, which reports use, as far as the library has them: a file is one
// material (documents 1696710601820172 and 1696710601254912).
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

// filesReach is how many files of a query are assumed to have pages. The documents give no limit for files; for other
// lists they give 10,000.
const filesReach = 10_000

// page fetches a page by its number. If there are more than filesReach files, it reads stretches of days of upload,
// and keeps the total in the token: "days:<total>:<first day>:<days>:<page>".
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

// The bounds of all days. The first and the last stretch of a library extend to them, to cover implausible dates of
// the platform: by the document start_time and end_time must be used together.
const (
	dayMin = "1970-01-01"
	dayMax = "9999-12-31"
)

// stretchDays is how many days a stretch has at most: most accounts upload fewer than filesReach files in that time.
const stretchDays = 512

// stretch is a position in the reading of files by day of upload.
type stretch struct {
	total int // the number of all files
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

// byDays fetches a page of a stretch. It shortens the stretch until all of its files have pages, and skips days
// without files.
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
