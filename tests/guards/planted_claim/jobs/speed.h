inline const char* speed() { return "{} is {:.2f} times faster"; }  // what guard_claims_finds_sentence must find
