import { expect } from 'chai'
import { ByteArena } from '../../../projections/byte-arena.ts'

describe('ByteArena', () => {
  let arena: ByteArena

  beforeEach(() => {
    arena = new ByteArena()
  })

  const read = (offset: number) => arena.read(offset)

  it('reads an entry', () => {
    expect(read(arena.add('an entry'))).to.deep.equal(['an entry'])
  })

  it('reads a chain and any prefix of it, oldest entry first', () => {
    const first = arena.add('one')
    const second = arena.add(Buffer.from('two'), first)
    const third = arena.add('three', second)

    expect(read(third)).to.deep.equal(['one', 'two', 'three'])
    expect(read(second)).to.deep.equal(['one', 'two'])
    expect(arena.count(third)).to.equal(3)
  })

  it('lets two chains share their first entries', () => {
    const root = arena.add('root')
    const [left, right] = [arena.add('left', root), arena.add('right', root)]

    expect(read(left)).to.deep.equal(['root', 'left'])
    expect(read(right)).to.deep.equal(['root', 'right'])
  })

  it('stores any text, and entries that are empty or larger than a chunk', () => {
    const entries = ['', 'ü€😀', 'x'.repeat(3_000_000), '€'.repeat(400_000), 'the end']

    expect(entries.map((entry) => arena.add(entry)).map(read)).to.deep.equal(entries.map((entry) => [entry]))
  })

  it('stores many entries, in chains that span chunks', () => {
    const chains = Array.from({ length: 100 }, (_, n) => arena.add(`chain ${n}`))
    for (let n = 0; n < 100_000; n++)
      chains[n % 100] = arena.add(`entry ${n} with some more text`, chains[n % 100])

    const entries = read(chains[42]!)

    expect(entries).to.have.length(1001)
    expect(entries[0]).to.equal('chain 42')
    expect(entries[1000]).to.equal('entry 99942 with some more text')
  })
})
