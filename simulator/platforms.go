package simulator

// platforms lists all. Accounts are dealt to them in turn, so their order is part of the world.
func platforms() []platform { return []platform{newTencent(), newOceanEngine()} }
