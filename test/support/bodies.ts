/** A body for `POST /v1/chat/completions`. */
export function chatBody(content: string, more: object = {}): object {
  return { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more }
}

/** A body for `POST /v1/firewall-rules`: masks the word "secret" unless `more` says otherwise. */
export function firewallRuleBody(more: object = {}): object {
  return {
    name: 'A rule',
    is_enabled: true,
    scope: 'prompt',
    type: 'substring',
    pattern: 'secret',
    action: 'mask',
    priority: 0,
    ...more,
  }
}

/** A body for `POST /v1/routing-rules`: by default, matches every request and does nothing. */
export function routingRuleBody(more: object = {}): object {
  return { name: 'A rule', is_enabled: true, priority: 0, match_json: {}, action_json: {}, ...more }
}

/** A body for `POST /v1/tool-rules`: denies every call of a tool unless `more` says otherwise. */
export function toolRuleBody(more: object = {}): object {
  return { name: 'A rule', is_enabled: true, priority: 0, match: {}, action: 'deny', ...more }
}
