import assert from 'node:assert/strict'
import { test } from 'node:test'
import plugin from './index.js'

const { conditions, actions } = plugin.setup({})

test('the condition compares the header', () => {
  const matches = conditions[0].matcher('red')
  assert.equal(matches({ headers: { 'x-team': 'red' } }), true)
  assert.equal(matches({ headers: { 'x-team': 'blue' } }), false)
  assert.equal(matches({ headers: {} }), false)
})

test('the action adds an instruction, and does not change the request in place', () => {
  const request = { messages: [{ role: 'user', content: 'Hello' }] }
  const draft = { request }
  actions[0].apply('Be brief.', draft)
  assert.deepEqual(draft.request.messages, [{ role: 'system', content: 'Be brief.' }, ...request.messages])
  assert.equal(request.messages.length, 1)
})
