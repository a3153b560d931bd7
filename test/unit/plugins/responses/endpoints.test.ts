import { expect } from 'chai'
import { listItems } from '../../../../plugins/responses/endpoints.ts'

const items = Array.from({ length: 25 }, (_, n) => ({ id: `i${n}` }))
const ids = (query: Parameters<typeof listItems>[1]) =>
  (listItems(items, query).data as { id: string }[]).map(({ id }) => id)

describe('listing input items', () => {
  it('returns the newest 20 first', () => {
    const { data, ...rest } = listItems(items, {})
    expect(data).to.have.length(20)
    expect(rest).to.deep.equal({ object: 'list', first_id: 'i24', last_id: 'i5', has_more: true })
  })

  it('continues after an item, in either order', () => {
    expect(ids({ after: 'i3' })).to.deep.equal(['i2', 'i1', 'i0'])
    expect(ids({ after: 'i21', order: 'asc' })).to.deep.equal(['i22', 'i23', 'i24'])
    expect(listItems(items, { after: 'i3' }).has_more).to.equal(false)
  })

  it('applies the limit', () => {
    expect(ids({ limit: 2, order: 'asc' })).to.deep.equal(['i0', 'i1'])
  })

  it('rejects an item that the response does not have', () => {
    expect(() => listItems(items, { after: 'other' })).to.throw('the response has no input item other')
  })

  it('returns an empty list without items', () => {
    expect(listItems([], {})).to.deep.equal({
      object: 'list',
      data: [],
      first_id: '',
      last_id: '',
      has_more: false,
    })
  })
})
