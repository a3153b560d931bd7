import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplyEvent } from 'signalbox'
import plugin from './index.js'

const { inspect } = plugin.setup({ phrases: ['Project X'] })

/** Returns the text of a reply whose stream has these pieces. */
async function filter(...pieces) {
  const { transform, flush } = inspect()
  const events = []
  for (const text of pieces) events.push(...(await transform(new ReplyEvent([{ type: 'text', text }]))))
  events.push(...(await flush()))
  return events.flatMap(({ parts }) => parts.map(({ text }) => text)).join('')
}

test('replaces a phrase wherever the stream is split', async () => {
  const text = 'About project X.'
  for (let cut = 0; cut <= text.length; cut++)
    assert.equal(await filter(text.slice(0, cut), text.slice(cut)), 'About [removed].')
})

test('passes other replies on', async () => {
  assert.equal(await filter('About ', 'Project Y.'), 'About Project Y.')
})
