package bilibili

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// cash answers report/v2/cash (STACK), in yuan. Money of grants is in red_packet, whose name is chosen.
func (b *bilibili) cash(c *platform.Call, by caller, _ *platform.Params) *platform.Failure {
	w := begin(c)
	writeCash(&w, c.View.FundNow(by.account).Balance)
	end(c, &w)
	return nil
}

func writeCash(w *platform.Writer, f world.Funds) {
	w.Open('{')
	yuan(w, "cash", f.Cash+f.Bank)
	yuan(w, "red_packet", f.Grant)
	w.Close('}')
}

func yuan(w *platform.Writer, name string, fen int64) { w.Key(name); w.Hundredths(fen) }

// flows answers the list of an account's cash flow: a row for each published day, in yuan. The guides name the call
// (获取账户流水); its path and fields are chosen.
func (b *bilibili) flows(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	from, to, err := readDays(c)
	if err != nil {
		return err
	}
	writePage(readPage(p), c.View.FundDays(by.account, from, to), writeFlow)
	return nil
}

func writeFlow(w *platform.Writer, d *world.FundDay) {
	w.TextField("date", world.FormatDay(d.Day))
	for _, kind := range []struct {
		suffix string
		of     func(world.Funds) int64
	}{
		{"cash", func(f world.Funds) int64 { return f.Cash + f.Bank }},
		{"red_packet", func(f world.Funds) int64 { return f.Grant }},
	} {
		yuan(w, "recharge_"+kind.suffix, kind.of(d.Deposit))
		yuan(w, "cost_"+kind.suffix, kind.of(d.Paid))
		yuan(w, "transfer_in_"+kind.suffix, kind.of(d.TransferIn))
		yuan(w, "transfer_out_"+kind.suffix, kind.of(d.TransferOut))
		yuan(w, "balance_"+kind.suffix, kind.of(d.Balance))
	}
}

// readDays reads start_date and end_date.
func readDays(c *platform.Call) (from, to int, _ *platform.Failure) {
	from, failed := world.ParseDay(c.Query.Get("start_date"))
	to, failedToo := world.ParseDay(c.Query.Get("end_date"))
	switch {
	case failed != nil || failedToo != nil:
		return 0, 0, wrong(c, "start_date and end_date are given, as days like 2026-11-15")
	case to < from:
		return 0, 0, wrong(c, "end_date is before start_date")
	}
	return from, to, nil
}
