package wire

// Int is a whole number, from a JSON number or a string.
type Int struct {
	Value int64
	Set   bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Int) UnmarshalJSON(data []byte) error {
	var d Decimal
	if err := d.UnmarshalJSON(data); err != nil {
		return err
	}
	value, err := d.Int()
	if err != nil {
		return err
	}
	*n = Int{Value: value, Set: d.set}
	return nil
}

// Column returns the number for a column: nil when it is not set.
func (n Int) Column() any {
	if !n.Set {
		return nil
	}
	return n.Value
}
