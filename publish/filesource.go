package publish

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"adsync/base/config"
	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/media"
	"adsync/publish/format"
	"adsync/publish/place"
	"adsync/publish/source"
)

// sourceWait is how long a file waits that is made of files which have not arrived.
const sourceWait = time.Minute

// FileSource is Parquet or ORC files that another program writes, as the source of a subscription.
type FileSource struct {
	// Destination is the name of a destination of the kind dir or s3, where the files are.
	Destination string `json:"destination"`
	// Path is the name of the file below the destination's prefix, with the placeholders of a subscription's path. With
	// a final "*" it is all files whose names begin so, up to the next slash. Those whose last segment begins with "_"
	// or "." are left out.
	Path string `json:"path"`
	// Done is the name of a file in the directory of Path that must be there first; "" for none.
	Done string `json:"done,omitempty"`
	// Columns are the columns to read, in this order; none for all.
	Columns []source.Column `json:"columns,omitempty"`
}

// fileSource is a checked FileSource.
type fileSource struct {
	FileSource
	path template // without the final "*"
	all  bool     // whether it had one
}

// errAbsent means that the files of a source have not arrived.
var errAbsent = errors.New("its source has not arrived")

// readFiles reads the source of a subscription that has files.
func (s *Subscription) readFiles(f *FileSource) error {
	s.files = &fileSource{FileSource: *f}
	var errs []error
	refuse := func(key, value, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: value, Want: want})
	}
	if f.Destination == "" {
		refuse("source.files.destination", "", "the name of a destination of the kind dir or s3")
	}
	why := s.files.parse()
	lacks := s.files.path.of("game") && s.game() == "" || s.files.path.of("customer") && s.Customer == ""
	if why == nil && !lacks {
		why = s.files.checkName(s)
	}
	if why != nil {
		refuse("source.files.path", f.Path, fmt.Sprintf("%s; a final * stands for all files (%v)", wantPath, why))
	}
	if f.Done != "" && (strings.Contains(f.Done, "/") || place.CheckName(f.Done) != nil) {
		refuse("source.files.done", f.Done, "the name of a file without a directory, such as _SUCCESS")
	}
	names := map[string]bool{}
	for i, c := range f.Columns {
		key, as := fmt.Sprintf("source.files.columns[%d]", i), s.files.named(i)
		switch {
		case c.Name == "":
			refuse(key+".name", "", "the name of a column in the files")
		case names[as]:
			refuse(key+".as", as, "a name that no column before it has")
		}
		names[as] = true
	}
	switch game := s.path.of("game") || s.files.path.of("game"); {
	case s.files.path.of("game") && s.game() == "":
		refuse("scope.games", "", "exactly one game, since the source uses {game}")
	case len(s.scope.Accounts) > 0, len(s.scope.Media) > 0, len(s.scope.Games) > 0 && (s.game() == "" || !game):
		refuse("scope", s.Scope, "none: it does not filter files. One game is possible if a path uses {game}")
	}
	if s.files.path.of("customer") && s.Customer == "" {
		refuse("customer", "", "a customer, since the source uses {customer}")
	}
	return errors.Join(errs...)
}

// named returns the name that a column has in the report.
func (f *fileSource) named(column int) string {
	if c := f.Columns[column]; c.As == "" {
		return c.Name
	}
	return f.Columns[column].As
}

// parse reads the path, and returns why it is refused.
func (f *fileSource) parse() (err error) {
	var text string
	text, f.all = strings.CutSuffix(f.Path, "*")
	switch {
	case strings.Contains(text, "*"):
		return errors.New("it has a * that is not the last character")
	case len(f.Path) > nameMax:
		return fmt.Errorf("it has %d bytes", len(f.Path))
	case !utf8.ValidString(f.Path):
		return errors.New("it is not valid UTF-8")
	}
	f.path, err = parseTemplate(text)
	return err
}

// checkName returns why the names of the files are refused.
func (f *fileSource) checkName(s *Subscription) error {
	sample := publishing.Publication{FromDay: "2026-11-15", ToDay: "2026-11-21", Revision: 99, Sequence: 999_999}
	name := f.path.name(s, &sample)
	if f.all {
		name += "x" // A name may not end with a slash.
	}
	return place.CheckName(name)
}

// pattern returns the names of the files that a report is made of.
func (f *fileSource) pattern(s *Subscription, p *publishing.Publication) string {
	name := f.path.name(s, p)
	if f.all {
		name += "*"
	}
	return name
}

// writeFiles writes the rows of the source's files. It reads them from copies on this machine, one after the other. It
// is an error if a file has changed, appeared or disappeared meanwhile.
func (d *delivery) writeFiles(ctx context.Context, begin func([]format.Column) error, row func([][]byte) error) error {
	at, err := d.sourcePlace(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	d.p.Incomplete, d.p.Missing = false, ""
	before, err := d.arrived(ctx, at)
	if err != nil {
		return err
	}
	rows := source.NewRows(d.s.files.Columns)
	var failed error
	for _, f := range before.files {
		if failed = d.readFile(ctx, at, f, rows, begin, row); failed != nil {
			break
		}
	}
	if _, refused := errors.AsType[*source.RefusalError](failed); failed != nil && !refused {
		return failed
	}
	after, err := d.stored(ctx, at)
	switch {
	case err != nil:
		return err
	case !slices.Equal(before.done, after.done), !slices.Equal(before.files, after.files):
		return errors.New("the files of its source have changed while they were read")
	case failed != nil:
		return &media.Error{Class: media.Invalid, Message: "its source cannot be used: " + failed.Error()}
	}
	return nil
}

// sourcePlace opens the destination that the source's files are read from.
func (d *delivery) sourcePlace(ctx context.Context) (place.Reader, error) {
	name := d.s.files.Destination
	invalid := func(err error) error {
		return &media.Error{Class: media.Invalid, Message: fmt.Sprintf("the destination %s of its source: %v", name, err)}
	}
	row, err := d.Store.Destination(ctx, name)
	switch {
	case errors.Is(err, sqldb.ErrNotFound):
		return nil, invalid(errors.New("it does not exist"))
	case err != nil:
		return nil, err
	case !row.Enabled:
		return nil, fmt.Errorf("%w: the destination %s is switched off", errAbsent, name)
	}
	settings, err := PlaceConfig(d.Box, row)
	if err != nil {
		return nil, invalid(err)
	}
	at, err := place.OpenReader(settings)
	if err != nil {
		return nil, invalid(err)
	}
	return at, nil
}

// listing is what a source has.
type listing struct{ done, files []place.Stored }

// stored lists the files of the source, and the one that must be there first.
func (d *delivery) stored(ctx context.Context, at place.Reader) (l listing, err error) {
	f := d.s.files
	pattern := f.pattern(d.s, d.p)
	if f.Done != "" {
		if l.done, err = at.List(ctx, path.Join(path.Dir(pattern), f.Done)); err != nil {
			return l, fmt.Errorf("look for the source of the file: %w", err)
		}
	}
	if l.files, err = at.List(ctx, pattern); err != nil {
		return l, fmt.Errorf("look for the source of the file: %w", err)
	}
	if f.all {
		l.files = slices.DeleteFunc(l.files, func(s place.Stored) bool {
			base := path.Base(s.Name)
			return base[0] == '_' || base[0] == '.' || base == f.Done
		})
	}
	return l, nil
}

// arrived returns the files of the source, and errAbsent if there are none, or if the source is not complete. A file
// that may go out incomplete does not wait for that.
func (d *delivery) arrived(ctx context.Context, at place.Reader) (listing, error) {
	l, err := d.stored(ctx, at)
	if err != nil {
		return l, err
	}
	missing := ""
	switch f := d.s.files; {
	case len(l.files) == 0:
		missing = f.pattern(d.s, d.p)
	case f.Done == "" || len(l.done) > 0:
		return l, nil
	case d.s.waits() && d.s.allowsIncomplete(d.p, d.Clock.Now()):
		d.p.Incomplete = true
		return l, nil
	default:
		missing = path.Join(path.Dir(f.pattern(d.s, d.p)), f.Done)
	}
	return l, fmt.Errorf("%w: there is no file %s at the destination %s", errAbsent, missing, d.s.files.Destination)
}

// readFile reads the rows of one of the source's files, from a copy among the part files.
func (d *delivery) readFile(ctx context.Context, at place.Reader, f place.Stored, rows *source.Rows,
	begin func([]format.Column) error, row func([][]byte) error) error {
	if _, most := d.Spool.Usage(); f.Size > most {
		return &media.Error{Class: media.Invalid, Message: fmt.Sprintf(
			"the file %s of its source has %d bytes: raise files.max_mib above that, or write smaller files", f.Name, f.Size)}
	}
	scratch, err := d.Spool.create(d.p.ID)
	if err != nil {
		return err
	}
	defer scratch.drop()
	if err := at.Copy(ctx, f, scratch); err != nil {
		return fmt.Errorf("copy a file of the source: %w", err)
	}
	return rows.Read(ctx, f.Name, scratch.file, f.Size, begin, row)
}
