import { expect } from 'chai'
import { startGateway } from '../support/gateway.ts'
import { itInFull } from '../support/rounds.ts'
import { startWholeReplyProvider } from '../support/whole-reply-provider.ts'

const MIB = 1024 * 1024
const LIMIT = 64 * MIB

/** Asks for a whole reply of 100 MiB. */
async function requestOversizedReply(isAnnounced: boolean) {
  const provider = await startWholeReplyProvider(100 * MIB, { isAnnounced })
  const gateway = await startGateway({ OPENAI_API_KEY: 'key-of-openai', OPENAI_BASE_URL: provider.url })
  try {
    const messages = [{ role: 'user', content: 'Hello' }]
    const answer = await gateway.call('POST', '/v1/chat/completions', { model: 'openai:gpt-4o', messages })
    return { ...answer, sent: provider.sent }
  } finally {
    await gateway.stop()
    provider.close()
  }
}

describe('a reply above 64 MiB', () => {
  itInFull('is not read to its end', async () => {
    const { status, body, sent } = await requestOversizedReply(false)
    expect(status).to.equal(502)
    expect(body.error).to.include({
      code: 'provider_error',
      message: 'openai sent a reply larger than 64 MiB.',
    })
    expect(sent).not.to.be.empty
    // What is above the limit was in the buffers of the sockets.
    for (const bytes of sent) expect(bytes).to.be.within(LIMIT, LIMIT + 24 * MIB)
  })

  it('is not read if the provider announces its size', async () => {
    const { status, body, sent } = await requestOversizedReply(true)
    expect(status).to.equal(502)
    expect(body.error.message).to.equal('openai sent a reply larger than 64 MiB.')
    expect(sent).not.to.be.empty
    for (const bytes of sent) expect(bytes).to.be.below(MIB)
  })
})
