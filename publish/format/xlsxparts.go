package format

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	xmlHead      = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainSpace    = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	packageSpace = `xmlns="http://schemas.openxmlformats.org/package/2006/`
	officeTypes  = `http://schemas.openxmlformats.org/officeDocument/2006/relationships`
	sheetTypes   = `application/vnd.openxmlformats-officedocument.spreadsheetml.`

	xlsxRelations = xmlHead + `<Relationships ` + packageSpace + `relationships"><Relationship Id="rId1" Type="` +
		officeTypes + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`

	xlsxSheetEnd = `</sheetData></worksheet>`
)

// The styles of cells: their indexes in the list of xlsxStyles.
const (
	styleHeader  = 1
	styleInteger = 2
	styleDay     = 3
	styleTime    = 4
	styleDecimal = 5 // of scale 0; the others follow
)

// The number formats of the styles. Excel reserves those below 164.
const (
	formatGeneral = 0
	formatInteger = 1 // "0"
	formatDay     = 164
	formatTime    = 165
	formatDecimal = 166 // of scale 0; the others follow
)

func numberStyle(c Column) int64 {
	if c.Type == Decimal {
		return int64(styleDecimal + c.Scale)
	}
	return styleInteger
}

func xlsxStyles() string {
	var formats, styles strings.Builder
	addFormat := func(id int, code string) {
		fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, id, code)
	}
	addStyle := func(format, font int) {
		fmt.Fprintf(&styles, `<xf numFmtId="%d" fontId="%d" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" `+
			`applyFont="1"/>`, format, font)
	}
	addFormat(formatDay, "yyyy-mm-dd")
	addFormat(formatTime, "yyyy-mm-dd hh:mm:ss")
	addStyle(formatGeneral, 0)
	addStyle(formatGeneral, 1)
	addStyle(formatInteger, 0)
	addStyle(formatDay, 0)
	addStyle(formatTime, 0)
	for scale := range scaleMax + 1 {
		code := "0"
		if scale > 0 {
			code = "0." + strings.Repeat("0", scale)
		}
		addFormat(formatDecimal+scale, code)
		addStyle(formatDecimal+scale, 0)
	}
	const font = `<sz val="11"/><name val="Calibri"/><family val="2"/></font>`
	return xmlHead + `<styleSheet ` + mainSpace + `>` +
		`<numFmts count="` + strconv.Itoa(scaleMax+3) + `">` + formats.String() + `</numFmts>` +
		`<fonts count="2"><font>` + font + `<font><b/>` + font + `</fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>` +
		`</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="` + strconv.Itoa(styleDecimal+scaleMax+1) + `">` + styles.String() + `</cellXfs>` +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
}

// columnWidths are in characters, by the columns' types.
var columnWidths = [...]int{Text: 20, Integer: 17, Decimal: 18, Float: 14, Bool: 9, Day: 12, Time: 20}

// appendSheetBegin appends a sheet's XML up to its first row.
func appendSheetBegin(b []byte, columns []Column) []byte {
	b = append(b, xmlHead+`<worksheet `+mainSpace+`><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" `+
		`topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>`...)
	for i, c := range columns {
		b = fmt.Appendf(b, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, i+1, i+1, columnWidths[c.Type])
	}
	return append(b, `</cols><sheetData>`...)
}

// columnLetters returns the letters of the column of an index: A to Z, then AA.
func columnLetters(i int) string {
	letters := ""
	for i++; i > 0; i = (i - 1) / 26 {
		letters = string(rune('A'+(i-1)%26)) + letters
	}
	return letters
}

func sheetPart(sheet int) string { return fmt.Sprintf("xl/worksheets/sheet%d.xml", sheet) }

func xlsxWorkbook(sheets int) string {
	var b strings.Builder
	b.WriteString(xmlHead + `<workbook ` + mainSpace + ` xmlns:r="` + officeTypes + `">` +
		`<bookViews><workbookView activeTab="0"/></bookViews><sheets>`)
	for i := range sheets {
		fmt.Fprintf(&b, `<sheet name="Sheet%d" sheetId="%d" r:id="rId%d"/>`, i+1, i+1, i+1)
	}
	b.WriteString(`</sheets></workbook>`)
	return b.String()
}

func xlsxWorkbookRelations(sheets int) string {
	var b strings.Builder
	b.WriteString(xmlHead + `<Relationships ` + packageSpace + `relationships">`)
	for i := range sheets {
		fmt.Fprintf(&b, `<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>`,
			i+1, officeTypes, i+1)
	}
	fmt.Fprintf(&b, `<Relationship Id="rId%d" Type="%s/styles" Target="styles.xml"/></Relationships>`,
		sheets+1, officeTypes)
	return b.String()
}

func xlsxContentTypes(sheets int) string {
	var b strings.Builder
	override := func(part, kind string) {
		fmt.Fprintf(&b, `<Override PartName="/%s" ContentType="%s%s+xml"/>`, part, sheetTypes, kind)
	}
	b.WriteString(xmlHead + `<Types ` + packageSpace + `content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>`)
	override("xl/workbook.xml", "sheet.main")
	override("xl/styles.xml", "styles")
	for i := range sheets {
		override(sheetPart(i+1), "worksheet")
	}
	b.WriteString(`</Types>`)
	return b.String()
}
