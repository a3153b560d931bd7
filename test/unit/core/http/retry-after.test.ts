import { expect } from 'chai'
import { formatDuration } from '../../../../core/http/error-words.ts'

describe('formatDuration', () => {
  it("formats like OpenAI's headers", () => {
    expect([1, 59, 60, 61, 360].map(formatDuration)).to.deep.equal(['1s', '59s', '1m0s', '1m1s', '6m0s'])
  })
})
