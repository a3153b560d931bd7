import { expect } from 'chai'
import { parseLogFilter } from '../../../../plugins/audit/log-filter.ts'
import type { LogReader } from '../../../../plugins/audit/read-log.ts'
import { LogSearch } from '../../../../plugins/audit/search-log.ts'

const NEVER = new AbortController().signal

describe('LogSearch', () => {
  let running: number
  let mostRunning: number
  let release: () => void
  let released: Promise<void>
  let search: LogSearch

  beforeEach(() => {
    ;[running, mostRunning] = [0, 0]
    released = new Promise((resolve) => {
      release = resolve
    })
    const reader: LogReader = {
      async *backwards() {
        running += 1
        mostRunning = Math.max(mostRunning, running)
        await released
        running -= 1
        yield []
      },
      async *forwards() {},
    }
    search = new LogSearch(reader)
  })

  const find = (q?: string, signal = NEVER) =>
    search.find(parseLogFilter(q === undefined ? {} : { q }), 1000, 10, signal)
  const outcome = (found: Promise<unknown>) =>
    found.then(
      () => 'found',
      (error) => (error.name === 'AbortError' ? 'aborted' : error.code),
    )
  const many = (count: number) => Array.from({ length: count }, () => outcome(find('text')))

  it('runs two searches at a time, keeps eight waiting, and refuses others with 429', async () => {
    const outcomes = many(12)
    expect(await Promise.race(outcomes)).to.equal('audit_busy')
    const error = await find('text').catch((thrown) => thrown)
    expect(error).to.include({ status: 429, code: 'audit_busy' })
    expect(error.details.retryAfter).to.be.above(0)
    expect(running).to.equal(2)
    release()
    expect(await Promise.all(outcomes)).to.deep.equal([
      ...Array(10).fill('found'),
      ...Array(2).fill('audit_busy'),
    ])
    expect(mostRunning).to.equal(2)
    expect(await outcome(find('text'))).to.equal('found')
  })

  it('does not let a page without a filter wait', async () => {
    const outcomes = many(10)
    const page = outcome(find())
    expect(running).to.equal(3)
    release()
    expect(await page).to.equal('found')
    await Promise.all(outcomes)
  })

  it('frees the place of a client that disconnects while it waits', async () => {
    const outcomes = many(9)
    const leaving = new AbortController()
    const left = outcome(find('text', leaving.signal))
    leaving.abort()
    expect(await left).to.equal('aborted')
    const last = outcome(find('text'))
    release()
    expect(await Promise.all([...outcomes, last])).to.deep.equal(Array(10).fill('found'))
  })

  it('ends a running search whose client disconnects', async () => {
    const leaving = new AbortController()
    const left = outcome(find('text', leaving.signal))
    leaving.abort()
    release()
    expect(await left).to.equal('aborted')
  })
})
