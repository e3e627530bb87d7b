package source

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	parquetformat "github.com/parquet-go/parquet-go/format"
)

// PagesMax bounds what the pages and dictionaries that are read of a Parquet file at a time need of memory, in bytes.
// There are one page and one dictionary for each column.
const PagesMax = 512 << 20

const (
	parquetMagic = "PAR1"
	footerMax    = 32 << 20
	// readBuffer is how many bytes of a column are read at a time.
	readBuffer = 64 << 10
	// batchLength is how many values of a column are decoded at a time.
	batchLength = 128
	// rowsPerCheck is the number of rows between two checks of the context.
	rowsPerCheck = 1024
)

var (
	errDamaged = errors.New("the Parquet file is damaged")
	errPages   = errors.New("its pages need more than 512 MiB of memory: want smaller pages, or fewer columns")
)

// parquetFile is an open Parquet file. Unlike an ORC file it may have columns of types that are not read, if they are
// not selected.
type parquetFile struct {
	table
	reader io.ReaderAt
	file   *parquet.File
	leaves []leaf // one for each of the columns
	most   int64  // PagesMax
}

// leaf is a column with plain values.
type leaf struct {
	chunk int // the index of its data in a row group
	name  string
	text  appendFunc
}

func openParquet(r io.ReaderAt, size int64) (p *parquetFile, err error) {
	defer recovered(&err)
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.ReadBufferSize(readBuffer))
	if err != nil {
		return nil, fmt.Errorf("open the Parquet file: %w", err)
	}
	p = &parquetFile{reader: r, file: f, most: PagesMax}
	p.refused, p.read = map[int]string{}, p.readRows
	elements := f.Metadata().Schema
	chunk := 0
	for i, next := 1, 0; i < len(elements); i = next {
		e := &elements[i]
		next = after(elements, i)
		column, text, refused := columnOf(e)
		if refused != "" {
			p.refused[len(p.columns)] = refused
		}
		p.columns = append(p.columns, column)
		p.leaves = append(p.leaves, leaf{chunk: chunk, name: e.Name, text: text})
		for ; i < next; i++ {
			if elements[i].NumChildren.V == 0 {
				chunk++
			}
		}
	}
	return p, nil
}

// after returns the index of the element that follows an element and those below it.
func after(elements []parquetformat.SchemaElement, i int) int {
	next := i + 1
	for range elements[i].NumChildren.V {
		next = after(elements, next)
	}
	return next
}

// checkFooter refuses a footer that cannot be one, before memory is taken for it.
func checkFooter(r io.ReaderAt, size int64) error {
	const ends = 8 // the length of the footer and the magic bytes
	if size < ends+int64(len(parquetMagic)) {
		return fmt.Errorf("%w: it has %d bytes", errDamaged, size)
	}
	end := make([]byte, ends)
	if _, err := r.ReadAt(end, size-ends); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if magic := string(end[4:]); magic != parquetMagic {
		return fmt.Errorf("%w: it ends with %q, as a file that is not complete", errDamaged, magic)
	}
	if n := binary.LittleEndian.Uint32(end); int64(n) > size-ends || n > footerMax {
		return fmt.Errorf("%w: its footer has %d bytes: want at most %d", errDamaged, n, footerMax)
	}
	return nil
}

// recovered turns a panic into an error: the library may panic when it reads a damaged file.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, v)
	}
}

// readRows is the table's read.
func (p *parquetFile) readRows(ctx context.Context, selected []int, row func([][]byte) error) error {
	var done int64
	for i, group := range p.file.RowGroups() {
		if err := p.fits(i, selected); err != nil {
			return fmt.Errorf("begin the row group %d of the Parquet file: %w", i+1, err)
		}
		if err := p.readGroup(ctx, group, selected, done, row); err != nil {
			return err
		}
		done += group.NumRows()
	}
	return nil
}

// readGroup calls row for each row of a row group, which follow the done rows of other groups.
func (p *parquetFile) readGroup(ctx context.Context, group parquet.RowGroup, selected []int, done int64,
	row func([][]byte) error) error {
	cursors := make([]cursor, len(selected))
	for i, at := range selected {
		cursors[i] = cursor{leaf: p.leaves[at], text: []byte{}} // An empty text is not nil.
		cursors[i].pages = group.ColumnChunks()[cursors[i].chunk].Pages()
	}
	defer func() {
		for i := range cursors {
			cursors[i].close()
		}
	}()
	values := make([][]byte, len(selected))
	for n := range group.NumRows() {
		if n%rowsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for i := range cursors {
			var err error
			if values[i], err = cursors[i].next(); err != nil {
				return fmt.Errorf("read the column %q of the row %d of the Parquet file: %w", cursors[i].name, done+n+1, err)
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return nil
}

// cursor reads the values of a column in a row group.
type cursor struct {
	leaf
	pages  parquet.Pages
	page   parquet.Page        // nil between two pages
	values parquet.ValueReader // of the page
	batch  [batchLength]parquet.Value
	at, n  int // the next value of the batch, and its number of values
	text   []byte
}

// next returns the next value, nil for a null. It is valid until the next call.
func (c *cursor) next() ([]byte, error) {
	for c.at == c.n {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	v := c.batch[c.at]
	c.at++
	if v.IsNull() {
		return nil, nil
	}
	var err error
	c.text, err = c.leaf.text(c.text[:0], v)
	return c.text, err
}

// fill decodes the next batch. The values of a batch refer to its page.
func (c *cursor) fill() (err error) {
	defer recovered(&err)
	if c.page == nil {
		if c.page, err = c.pages.ReadPage(); errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: the column has fewer values than rows", errDamaged)
		} else if err != nil {
			return err
		}
		c.values = c.page.Values()
	}
	c.at = 0
	c.n, err = c.values.ReadValues(c.batch[:])
	if !errors.Is(err, io.EOF) {
		return err
	}
	if c.n == 0 {
		parquet.Release(c.page)
		c.page = nil
	}
	return nil
}

func (c *cursor) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	_ = c.pages.Close() // Nothing was written.
}

// fits refuses a row group whose pages need too much memory: the library takes what the headers of the pages declare.
func (p *parquetFile) fits(group int, selected []int) (err error) {
	defer recovered(&err)
	chunks := p.file.Metadata().RowGroups[group].Columns
	var total int64
	for _, at := range selected {
		most, err := p.largest(&chunks[p.leaves[at].chunk].MetaData)
		if err != nil {
			return fmt.Errorf("read the headers of the pages of %q: %w", p.leaves[at].name, err)
		}
		if total += most; total > p.most {
			return errPages
		}
	}
	return nil
}

// largest returns how much memory the largest page and the dictionary of a column chunk need.
func (p *parquetFile) largest(chunk *parquetformat.ColumnMetaData) (int64, error) {
	begin := chunk.DataPageOffset
	if chunk.DictionaryPageOffset != 0 {
		begin = chunk.DictionaryPageOffset
	}
	var (
		page, dictionary int64
		protocol         thrift.CompactProtocol
	)
	section := io.NewSectionReader(p.reader, begin, chunk.TotalCompressedSize)
	in := bufio.NewReaderSize(section, 1<<10)
	for at := int64(0); at < section.Size(); {
		if _, err := section.Seek(at, io.SeekStart); err != nil {
			return 0, err
		}
		in.Reset(section)
		var h parquetformat.PageHeader
		if err := thrift.NewDecoder(protocol.NewReader(in)).Decode(&h); err != nil {
			return 0, err
		}
		end, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0, err
		}
		at = end - int64(in.Buffered()) + int64(h.CompressedPageSize)
		if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 {
			return 0, errDamaged
		}
		// A value needs at most 5 bytes for its level and its place in the page or the dictionary.
		need := int64(h.CompressedPageSize) + int64(h.UncompressedPageSize) +
			5*max(int64(h.DataPageHeader.V.NumValues), int64(h.DataPageHeaderV2.V.NumValues), 0)
		if h.Type == parquetformat.DictionaryPage {
			dictionary = max(dictionary, need+int64(h.UncompressedPageSize))
		} else {
			page = max(page, need)
		}
	}
	return page + dictionary, nil
}
