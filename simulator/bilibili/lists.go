package bilibili

import "adsync/simulator/platform"

// writePage answers with a page of a list, unless a parameter is wrong. data is a bare array without a total (STACK):
// only an empty page ends the list.
func writePage[T any](p *platform.Params, list []T, write func(w *platform.Writer, x *T)) {
	c := p.Call
	page, size := p.Integer("page", 1, 999_999), p.Integer("page_size", 20, int(c.Assumed(pageMax)))
	if p.Failure != nil {
		return
	}
	from, to := c.PageWithoutTotal(page, size, len(list))
	w := begin(c)
	w.Open('[')
	for i := range list[from:to] {
		w.Open('{')
		write(&w, &list[from+i])
		w.Close('}')
	}
	w.Close(']')
	end(c, &w)
}
