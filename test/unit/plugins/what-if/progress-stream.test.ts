import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/index.ts'
import { streamProgress } from '../../../../plugins/what-if/progress-stream.ts'

describe('the stream of an evaluation that fails after its first record', () => {
  async function streamOf(failure: Error) {
    const logged: unknown[] = []
    const response = await streamProgress(
      async (onProgress) => {
        onProgress({ evaluated: 1, requests: 2 })
        await setImmediate()
        throw failure
      },
      (error) => logged.push(error),
    )
    let text = ''
    if ('stream' in response) for await (const part of response.stream ?? []) text += part
    const [progress, error = ''] = text.trim().split('\n\n')
    expect(progress).to.equal('event: progress\ndata: {"evaluated":1,"requests":2}')
    expect(error).to.match(/^event: error\ndata: /)
    return { error: JSON.parse(error.slice('event: error\ndata: '.length)).error, logged }
  }

  it('has no message that is not meant for callers, which is logged', async () => {
    const { error, logged } = await streamOf(new Error('cannot open /var/lib/signalbox/ledger.sqlite'))
    expect(error).to.include({ code: 'internal_error', http_status: 500 })
    expect(error.message).to.contain('in its log')
    expect(JSON.stringify(error)).not.to.contain('ledger.sqlite')
    expect(logged).to.have.length(1)
  })

  it('has the errors that callers may see', async () => {
    const { error, logged } = await streamOf(new GatewayError('not_found', 'Retry later.'))
    expect(error).to.include({ code: 'not_found', message: 'Retry later.' })
    expect(logged).to.deep.equal([])
  })
})
