import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { toCurl } from '../../../../plugins/console/app/lib/curl.ts'

const GATEWAY = new URL('https://gateway.example/base/')
const RECORD = {
  endpoint: '/v1/chat/completions',
  requested_model: 'gpt-4o',
  stream: false,
  session_id: null,
}

/** The arguments of the command, as a shell passes them on. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`
  const env = { ...process.env, SIGNALBOX_KEY: 'sk-1' }
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1)
}

describe('a request as curl', () => {
  it('sends the recorded request, whatever is in it, below the address of the gateway', () => {
    const request = { model: 'gpt-4o', messages: [{ role: 'user', content: 'it\'s $HOME `id` \\ "x"\n!' }] }
    const record = { ...RECORD, endpoint: '/v1/responses', session_id: "run'7" }
    const [url, ...rest] = argumentsOf(toCurl(record, request, GATEWAY))
    expect(url).to.equal('https://gateway.example/base/v1/chat/completions')
    expect(rest.slice(0, 6)).to.deep.equal([
      ...['-H', 'authorization: Bearer sk-1'],
      ...['-H', 'content-type: application/json'],
      ...['-H', "x-session-id: run'7"],
    ])
    expect(JSON.parse(rest.at(-1) ?? '')).to.deep.equal(request)
  })

  it('leaves a blank for a prompt that is not recorded', () => {
    const body = JSON.parse(argumentsOf(toCurl({ ...RECORD, stream: true }, null, GATEWAY)).at(-1) ?? '')
    expect(body).to.deep.equal({ model: 'gpt-4o', messages: [{ role: 'user', content: '…' }], stream: true })
  })

  it('has texts to embed as they were sent', () => {
    const request = {
      model: 'e',
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    }
    const [url, ...rest] = argumentsOf(toCurl({ ...RECORD, endpoint: '/v1/embeddings' }, request, GATEWAY))
    expect(url).to.equal('https://gateway.example/base/v1/embeddings')
    expect(JSON.parse(rest.at(-1) ?? '')).to.deep.equal({ model: 'gpt-4o', input: ['a', 'b'] })
  })
})
