import { expect } from 'chai'
import { ByteArena } from '../../../projections/byte-arena.ts'

describe('a shelf', () => {
  let shelf: ByteArena

  beforeEach(() => {
    shelf = new ByteArena()
  })

  const read = (place: number) => shelf.read(place).map(String)

  it('gives back a note', () => {
    expect(read(shelf.add('a note'))).to.deep.equal(['a note'])
  })

  it('gives back a chain, oldest first, and any beginning of it', () => {
    const first = shelf.add('one')
    const second = shelf.add(Buffer.from('two'), first)
    const third = shelf.add('three', second)

    expect(read(third)).to.deep.equal(['one', 'two', 'three'])
    expect(read(second)).to.deep.equal(['one', 'two'])
    expect(shelf.count(third)).to.equal(3)
  })

  it('lets two chains go on from one note', () => {
    const root = shelf.add('root')
    const [left, right] = [shelf.add('left', root), shelf.add('right', root)]

    expect(read(left)).to.deep.equal(['root', 'left'])
    expect(read(right)).to.deep.equal(['root', 'right'])
  })

  it('keeps every character, and notes that are empty or longer than a board', () => {
    const notes = ['', 'ü€😀', 'x'.repeat(3_000_000), '€'.repeat(400_000), 'the end']

    expect(notes.map((note) => shelf.add(note)).map(read)).to.deep.equal(notes.map((note) => [note]))
  })

  it('keeps a great many, in chains that cross its boards', () => {
    const chains = Array.from({ length: 100 }, (_, n) => shelf.add(`chain ${n}`))
    for (let n = 0; n < 100_000; n++)
      chains[n % 100] = shelf.add(`note ${n} with some more text`, chains[n % 100])

    const notes = read(chains[42]!)

    expect(notes).to.have.length(1001)
    expect(notes[0]).to.equal('chain 42')
    expect(notes[1000]).to.equal('note 99942 with some more text')
  })
})
