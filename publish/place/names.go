package place

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// checkDir refuses a directory that no file can be delivered into; "" is the prefix itself.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	return CheckName(dir)
}

// Names implements Place.
func (p *files) Names(ctx context.Context, dir string) (names []string, err error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	entries, err := p.store.list(ctx, path.Clean(dir))
	if err != nil {
		return nil, p.failed("list", dir, err)
	}
	for _, e := range entries {
		if _, _, temporary := parseTemporary(e.name); e.file && !temporary {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Names implements Place.
func (b *bucket) Names(ctx context.Context, dir string) (names []string, err error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	prefix := path.Join(b.prefix, dir)
	if prefix != "" {
		prefix += "/"
	}
	pages := s3.NewListObjectsV2Paginator(b.client,
		&s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := send(ctx, b, func(ctx context.Context) (*s3.ListObjectsV2Output, error) { return pages.NextPage(ctx) })
		if err != nil {
			return nil, b.failed("list", dir, err)
		}
		for _, object := range page.Contents {
			if name := strings.TrimPrefix(aws.ToString(object.Key), prefix); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
