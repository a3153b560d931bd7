<?php
/*
 * Reads JSON lines {pattern, subject} from stdin and writes, for each, whether PHP's preg_match matches and what
 * a mask with the replacement <$0,$1> makes of the subject; null if PHP rejects the pattern or gives up. For
 * compare-random.ts.
 */

while (($line = fgets(STDIN)) !== false) {
    ['pattern' => $pattern, 'subject' => $subject] = json_decode($line, true);
    $matches = @preg_match($pattern, $subject);
    $count = $matches === false ? false : @preg_match_all($pattern, $subject, $found, PREG_SET_ORDER);
    $replaced = @preg_replace_callback(
        $pattern,
        fn ($match) => $match[0] === '' ? '' : "<{$match[0]}," . ($match[1] ?? '') . '>',
        $subject,
    );
    echo json_encode($matches === false ? null : ['matches' => $matches === 1, 'replaced' => $replaced]), "\n";
}
