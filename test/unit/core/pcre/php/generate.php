<?php
/*
 * Generates expectations.json: the results of PHP's preg_match and preg_replace for the patterns in rows.php.
 * Run by hand:  php test/unit/core/pcre/php/generate.php
 * The committed table is from PHP 8.2.36 with PCRE2 10.42 (Debian 12).
 *
 * - Patterns are delimited as in the gateway: a pattern without delimiters becomes /…/i. A slash in it is
 *   escaped; without that, PHP would reject the pattern.
 * - Patterns without the modifier u are prefixed with (*UTF): the gateway always matches characters, PHP bytes.
 * - If a pattern matches the empty string, only non-empty matches are replaced, because a mask ignores empty
 *   ones.
 * - For each pattern, the table keeps all rows with a different result, plus three that match and one that does
 *   not.
 * - The reasons for differences are written by hand; they are carried over from the existing table.
 */

const TABLE = __DIR__ . '/expectations.json';

$reasons = [];
foreach (is_file(TABLE) ? json_decode(file_get_contents(TABLE), true) : [] as $row) {
    if (isset($row['difference'])) $reasons[key_of($row)] = $row['difference'];
}

$lines = [];
foreach (require __DIR__ . '/rows.php' as [$topic, $patterns, $subjects, $replacements]) {
    foreach ($patterns as $index => $pattern) {
        $kept = [];
        foreach ($subjects as $number => $subject) {
            foreach (replacements_for($topic, $replacements, $index + $number) as $replacement) {
                $row = expect($topic, $pattern, $subject, $replacement);
                $key = key_of($row);
                if (isset($reasons[$key])) $row['difference'] = $reasons[$key];
                $kind = json_encode($row['matches']);
                $kept[$kind] = ($kept[$kind] ?? 0) + 1;
                $max = $row['matches'] === true ? (str_starts_with($topic, 'replacement') ? 99 : 3) : 1;
                if ($kept[$kind] <= $max || isset($row['difference'])) {
                    $lines[$key] ??= json_encode($row, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS);
                }
            }
        }
    }
}
file_put_contents(TABLE, "[\n  " . implode(",\n  ", $lines) . "\n]\n");
echo count($lines), " rows\n";

/** All replacements if they are the topic, otherwise one in turn. */
function replacements_for(string $topic, array $replacements, int $turn): array
{
    return str_starts_with($topic, 'replacement') ? $replacements : [$replacements[$turn % count($replacements)]];
}

function key_of(array $row): string
{
    return json_encode([$row['pattern'], $row['subject'], $row['replacement']]);
}

function expect(string $topic, string $pattern, string $subject, string $replacement): array
{
    $regex = delimit($pattern);
    $matches = @preg_match($regex, $subject);
    return [
        'topic' => $topic,
        'pattern' => $pattern,
        'subject' => $subject,
        'replacement' => $replacement,
        'matches' => $matches === false ? null : $matches === 1,
        'replaced' => $matches === false ? null : mask($regex, $subject, $replacement),
    ];
}

function delimit(string $pattern): string
{
    if (!preg_match('{^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$}sD', $pattern, $parts)) {
        return '/(*UTF)' . preg_replace('{\\\\.(*SKIP)(*FAIL)|/}s', '\\/', $pattern) . '/i';
    }
    return str_contains($parts[3], 'u') ? $pattern : $parts[1] . '(*UTF)' . substr($pattern, 1);
}

function mask(string $regex, string $subject, string $replacement): string
{
    preg_match_all($regex, $subject, $found);
    if (!in_array('', $found[0], true)) return preg_replace($regex, $replacement, $subject);
    return preg_replace_callback(
        $regex,
        fn ($match) => $match[0] === '' ? '' : strtr($replacement, ['$0' => $match[0], '$1' => $match[1] ?? '', '$2' => $match[2] ?? '']),
        $subject,
    );
}
