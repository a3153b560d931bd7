import { expect } from 'chai'
import type { ReplyPart } from '../../../../core/contract/index.ts'
import { inspectReply, textEvents, textOf } from '../../../support/inspected-reply.ts'
import { firewallRule } from '../../../support/rules.ts'

const mask = (pattern: string, replacement: string, type: 'substring' | 'regex' = 'substring') =>
  firewallRule({ pattern, replacement, type })
const block = (pattern: string) => firewallRule({ pattern, action: 'block' })

/** A text as chunks of one length; 0: whole. */
const cut = (text: string, length: number) =>
  length === 0
    ? [text]
    : Array.from({ length: Math.ceil(text.length / length) }, (_, n) =>
        text.slice(n * length, (n + 1) * length),
      )

const CUTS = [0, 1, 2, 3, 7]

describe('what a policy forbids in a reply', () => {
  const own = { policies: [[block('project falcon')]] }
  const OWN_MASK = [mask('qx1', 'falcon')]

  for (const type of ['whole', 'stream'] as const) {
    const chunksOf = (text: string, length: number) => (type === 'whole' ? [text] : cut(text, length))

    for (const length of type === 'whole' ? [0] : CUTS) {
      const how = type === 'whole' ? 'whole' : `streamed by ${length || 'one'}`

      it(`is not sent when a mask of the user writes it, ${how}`, async () => {
        for (const kind of ['text', 'reasoning', 'refusal'] as const) {
          const events = textEvents(chunksOf('A long text about the project qx1 and more.', length), kind)
          const { error, parts } = await inspectReply(OWN_MASK, events, { ...own, type })
          expect(error?.code).to.equal('firewall_blocked')
          expect(textOf(parts, kind)).not.to.contain('project falcon')
        }
        const passed = await inspectReply(OWN_MASK, textEvents(chunksOf('the qx1 project', length)), {
          ...own,
          type,
        })
        expect([passed.error, textOf(passed.parts)]).to.deep.equal([undefined, 'the falcon project'])
      })

      it(`is masked when a mask of the user writes it, ${how}`, async () => {
        const policies = [[mask('project falcon', '[bird]'), mask('/\\bsecret\\b/', '[s]', 'regex')]]
        const events = textEvents(chunksOf('A project falcon, a qx1, a project qx1 and s~e~cret.', length))
        const { error, parts } = await inspectReply([...OWN_MASK, mask('~', '')], events, { policies, type })
        expect(error).to.equal(undefined)
        expect(textOf(parts))
          .not.to.contain('project falcon')
          .and.not.to.match(/\bsecret\b/)
        expect(textOf(parts)).to.contain('A [bird], a falcon, a ')
      })

      it(`is not masked twice where the replacement holds the match, ${how}`, async () => {
        const policies = [
          [mask('password', '[password removed]'), mask('/(\\d+)/', '<$1>', 'regex')],
          [mask('secret', '[a secret removed]')],
        ]
        const events = textEvents(chunksOf('The password, the secret and 4711 passwords.', length))
        const { error, parts } = await inspectReply([mask('The', 'Their')], events, { policies, type })
        expect(error).to.equal(undefined)
        expect(textOf(parts)).to.equal(
          'Their [password removed], Their [a secret removed] and <4711> [password removed]s.',
        )
      })

      it(`is masked where a mask with groups puts it together, ${how}`, async () => {
        const policies = [
          [
            mask('/falcon(s?)/', '$1', 'regex'),
            mask('~(\\d\\d)/(\\d\\d)~', '$2/$1', 'regex'),
            mask('/x(\\w)x/', '$1', 'regex'),
            mask('tiger', 'cat'),
          ],
        ]
        const events = textEvents(chunksOf('On 12/31 a falfalconcon, a tiger and a falxcxons!', length))
        const { error, parts } = await inspectReply([], events, { policies, type })
        expect(error).to.equal(undefined)
        expect(textOf(parts))
          .to.contain('On 31/12 a ')
          .and.not.to.contain('falcon')
          .and.not.to.contain('tiger')
        if (length === 0 || length > 1) return
        expect(textOf(parts)).to.equal('On 31/12 a , a cat and a s!')
      })

      it(`is refused where masks undo each other, ${how}`, async () => {
        const policies = [[mask('falcon', 'bird')]]
        const events = textEvents(chunksOf('The falcon flies.', length))
        const { error } = await inspectReply([mask('bird', 'falcon')], events, { policies, type })
        expect(error?.message).to.contain('undo each other')
      })
    }

    it(`is found in arguments and in content of the provider, ${type}`, async () => {
      const called = (json: string): ReplyPart[] => [
        { type: 'tool-start', index: 0, id: 'c', name: 'f' },
        { type: 'tool-json', index: 0, json },
        { type: 'finish', reason: 'tool_calls' },
      ]
      const events = [called('{"a":"project q\\u00781"}')]
      const { error } = await inspectReply(OWN_MASK, events, { ...own, type })
      expect(error?.code).to.equal('firewall_blocked')
      const passed = await inspectReply(OWN_MASK, [called('{"a":"q\\u00781"}')], { ...own, type })
      expect(JSON.stringify(passed.parts)).to.contain('falcon')
    })
  }

  it('is found across a text that goes on after a pause', async () => {
    const events: ReplyPart[][] = [
      [{ type: 'text', text: 'the project' }],
      [{ type: 'tool-start', index: 0, id: 'c', name: 'f' }],
      [{ type: 'text', text: ' qx1' }],
    ]
    const { error } = await inspectReply(OWN_MASK, events, own)
    expect(error?.code).to.equal('firewall_blocked')
  })

  it('costs nothing before a mask has changed the text: nothing more is held back', async () => {
    const events = textEvents(['the project q', 'uick brown', ' fox'])
    const { steps } = await inspectReply(OWN_MASK, events, own)
    expect(steps.map((parts) => textOf(parts))).to.deep.equal(['the project ', 'quick brown', ' fox', ''])
  })
})
