import { expect } from 'chai'
import { toWaterfall } from '../../../../plugins/console/app/lib/waterfall.ts'

const RECORD = {
  times: { admitted_ms: 1, read_ms: 6, decided_ms: 9 },
  attempts: [{ provider: 'openai', model: 'gpt-4o', outcome: 'ok', start_ms: 9, ms: 100 }],
  stream: false,
  cache_hit: false,
  latency_ms: 112,
  first_token_ms: null,
}

const shown = (record: Parameters<typeof toWaterfall>[0]) =>
  toWaterfall(record).map(({ label, kind, startMs, endMs }) => `${label} ${kind} ${startMs}-${endMs}`)

const FIRST = ['Admit gateway 0-1', 'Read the body wait 1-6', 'Decide gateway 6-9']

describe('the waterfall of a request', () => {
  it('has each step where the one before ended', () => {
    expect(shown(RECORD)).to.deep.equal([
      ...FIRST,
      'openai/gpt-4o call 9-109',
      'Inspect and send gateway 109-112',
    ])
  })

  it('has what waited between calls, and the stream after its first events', () => {
    const attempts = [
      { provider: 'openai', model: 'gpt-4o', outcome: 'provider_error', start_ms: 12, ms: 50 },
      { provider: 'mistral', model: 'small', deployment: 'west', outcome: 'ok', start_ms: 70, ms: 30 },
    ]
    expect(shown({ ...RECORD, attempts, stream: true, latency_ms: 200, first_token_ms: 100 })).to.deep.equal([
      ...FIRST,
      'Queue wait 9-12',
      'openai/gpt-4o failed 12-62',
      'Retry delay wait 62-70',
      'mistral/small at west call 70-100',
      'Stream stream 100-200',
    ])
  })

  it('ends with the step that refused it', () => {
    const times = { ...RECORD.times, decided_ms: null }
    const error = { code: 'firewall_blocked', http_status: 403 }
    const refused = { ...RECORD, times, attempts: [], error, latency_ms: 8 }
    expect(shown(refused)).to.deep.equal([...FIRST.slice(0, 2), 'Decide failed 6-8'])
  })

  it('is that of the cache, of a copy, or of nothing that was recorded', () => {
    const hit = { ...RECORD, attempts: [], cache_hit: true, latency_ms: 10 }
    expect(shown(hit)).to.deep.equal([...FIRST, 'Reply from the cache gateway 9-10'])
    const copy = { ...RECORD, times: null, latency_ms: 109 }
    expect(shown(copy)).to.deep.equal(['Queue wait 0-9', 'openai/gpt-4o call 9-109'])
    expect(shown({ ...RECORD, times: null, attempts: [] })).to.deep.equal([])
  })
})
