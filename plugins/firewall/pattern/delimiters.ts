const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s

/** The pattern between its delimiters and the modifiers behind them; without delimiters it reads as `/…/i`. */
export function readDelimiters(pattern: string): { readonly body: string; readonly modifiers: string } {
  const [, , body = pattern, modifiers = 'i'] = pattern.match(DELIMITED) ?? []
  return { body, modifiers }
}
